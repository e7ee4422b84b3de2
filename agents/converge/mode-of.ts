import type { Mode } from '../instance/mode.ts'
import type { Parts } from '../instance/parts.ts'
import { Semisync } from '../semisync/semisync.ts'

/**
 * The one place that knows the modes by name.
 * @param done something was found out that a pass must see
 */
export function modeOf(parts: Parts, done: () => void): Mode {
  switch (parts.config.mode) {
    case 'semisync':
      return new Semisync(parts, done)
  }
}
