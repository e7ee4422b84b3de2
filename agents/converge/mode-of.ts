import type { ModeName } from '#failover/protocol/mode-name.ts'
import type { Mode } from '../instance/agent-mode.ts'
import type { AnswersAlone, Parts } from '../instance/parts.ts'
import { Group } from '../group/group.ts'
import { Semisync } from '../semisync/semisync.ts'
import type { Step } from './steps.ts'

interface ModeClass {
  new (parts: Parts): Mode<Step>
  readonly answersAlone: AnswersAlone
}

/** The switch between modes for agents; whoever decides has another (`failover/decide.ts`). */
const modes: Readonly<Record<ModeName, ModeClass>> = {
  semisync: Semisync,
  async: Semisync,
  group: Group,
}

export function modeOf(parts: Parts): Mode<Step> {
  return new modes[parts.config.mode](parts)
}

export function answersAloneIn(mode: ModeName): AnswersAlone {
  return modes[mode].answersAlone
}
