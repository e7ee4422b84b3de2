import type { Mode } from '../instance/agent-mode.ts'
import type { Parts } from '../instance/parts.ts'
import { Group } from '../group/group.ts'
import { Semisync } from '../semisync/semisync.ts'

/**
 * The switch between modes for agents; whoever decides has another (`failover/decide.ts`).
 * @param done something was found out that a pass must see
 */
export function modeOf(parts: Parts, done: () => void): Mode {
  switch (parts.config.mode) {
    case 'semisync':
      return new Semisync(parts, done)
    case 'group':
      return new Group(parts, done)
  }
}
