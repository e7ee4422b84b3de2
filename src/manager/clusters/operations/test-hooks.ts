import { counted, say } from '#common/sentence/sentence.ts'
import type { Situation } from '#failover/judge/situation.ts'
import { hooksAt, labelOf, type Hook } from '#failover/protocol/hook.ts'
import { momentNames, type HookMoment } from '#failover/protocol/hook-moments.ts'
import type { Recovery } from '#failover/protocol/notes.ts'
import { toldOf } from '#manager/loop/hooks/hook-told.ts'
import type { Asking } from './asking.ts'
import type { Performer } from './performer.ts'

interface Trial {
  readonly moment: HookMoment
  readonly index: number
  readonly hook: Hook
}

/** A program that does not know of tests would switch a host off. */
const harmless = momentNames.filter((moment) => moment !== 'powerOff')

/** Runs the hooks with an example of what they are told. Nothing is written down, nothing of the cluster changes. */
export const testHooks: Performer<'test-hooks'> = (asking, { moment: asked }) => {
  const situation = asking.situation()
  const { spec, cluster } = situation
  const trials = (asked === undefined ? harmless : [asked]).flatMap((moment) =>
    hooksAt(spec.hooks, moment).map((hook, index): Trial => ({ moment, index, hook })),
  )
  if (trials.length === 0) {
    const what = asked === undefined ? say`hooks` : say`hooks.${asked}`
    throw asking.refusal(say`no test: the spec of ${cluster} has nothing in ${what}`)
  }
  return {
    would: {
      sentence: say`would run ${counted(trials.length, 'hook')} with an example, marked as a test`,
      plan: trials.map(nameOf),
    },
    act: async () => {
      const lines: string[] = []
      let failed = 0
      for (const trial of trials) {
        const { isDone, said } = await asking.cluster.hooks.run(trial.hook, exampleFor(asking, situation, trial))
        if (!isDone) failed++
        lines.push(`${nameOf(trial)}: ${isDone ? 'succeeded' : 'failed'}: ${said}`)
      }
      const sentence = `${trials.length - failed} of ${trials.length} hooks succeeded`
      return { sentence, plan: lines }
    },
  }
}

function nameOf({ moment, index, hook }: Trial): string {
  return `${moment}.${index} ${labelOf(hook)}`
}

/** As if the primary of now had been lost, or had handed over, to the first of the others. */
function exampleFor({ cluster }: Asking, situation: Situation, { moment, index }: Trial) {
  const { record, wallMs } = situation
  const { random } = cluster.world
  const [to = null] = record.syncSet
  const kind = moment.endsWith('Switchover') ? 'switchover' : 'failover'
  const isOver = moment.startsWith('after')
  const recovery: Recovery = {
    ...{ id: `test-${random.hex(12)}`, kind, startedWallMs: wallMs, timeline: [] },
    ...{ analysis: 'a person tries the hooks', sentence: 'a person tries the hooks; nothing has happened' },
    ...{ from: record.primary, to: isOver ? to : null },
    ...{ fromEpoch: record.epoch, toEpoch: isOver ? record.epoch + 1 : null },
    outcome: isOver ? 'succeeded' : moment === 'failed' ? 'undone' : 'running',
    hooks: { failureType: kind === 'failover' ? 'DeadPrimary' : '', runs: [] },
  }
  const key = { recovery: recovery.id, moment, index }
  const told = { key, recovery, successor: to, isAsked: true, machine: cluster.hooks.machine, isTest: true as const }
  return toldOf(situation, told)
}
