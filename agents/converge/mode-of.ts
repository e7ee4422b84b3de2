import type { ModeName } from '#failover/protocol/mode-name.ts'
import type { Mode } from '../instance/agent-mode.ts'
import type { AnswersAlone, Parts } from '../instance/parts.ts'
import { Group } from '../group/group.ts'
import { Semisync } from '../semisync/semisync.ts'

interface ModeClass {
  new (parts: Parts, done: () => void): Mode
  readonly answersAlone: AnswersAlone
}

/** The switch between modes for agents; whoever decides has another (`failover/decide.ts`). */
const modes: Readonly<Record<ModeName, ModeClass>> = {
  semisync: Semisync,
  group: Group,
}

/** @param done something was found out that a pass must see */
export function modeOf(parts: Parts, done: () => void): Mode {
  return new modes[parts.config.mode](parts, done)
}

export function answersAloneIn(mode: ModeName): AnswersAlone {
  return modes[mode].answersAlone
}
