import { setTimeout as sleep } from 'node:timers/promises'
import { RegentError } from '#common/errors/errors.ts'
import { say, text, type Sentence } from '#common/sentence/sentence.ts'
import { supervisorStatus } from '#local/supervisor/background.ts'
import type { FoundCluster } from '#local/clusters/cluster-index.ts'
import { explainingLines } from '#local/logs/log-tail.ts'
import { processNames } from '#local/supervisor/supervisor.ts'
import { layoutOf, type StateLayout } from '#local/folder/state-layout.ts'
import { keyOfProblem, type ClusterProblem, type ClusterView } from '#api-contract/views.ts'
import { openLocal } from '#cli/connection/connect.ts'
import type { Io } from '#cli/terminal/io.ts'

/** Initialising sixteen servers on two cores takes minutes. A restore may take hours, and says each second how far. */
const deadlineMs = 300_000
const lookEveryMs = 200
/** A process that ended this often since it was started will not get up by itself. */
const hopelessEnds = 3

/**
 * Waits until the cluster takes writes, telling what Regent says it does meanwhile. Throws `REGENT_REFUSED` with the
 * lines of the logs that explain it when a process keeps ending, `REGENT_TIMED_OUT` when it takes too long.
 */
export async function waitUntilWritable(io: Io, { dir, cluster }: FoundCluster, began: number): Promise<void> {
  const layout = layoutOf(dir)
  const [tell, tellStart] = [teller(io), teller(io)]
  const signal = io.interrupted()
  let [until, last] = [performance.now() + deadlineMs, '']
  for (;;) {
    await refuseHopeless(layout, began)
    const view = await openLocal(dir, cluster)
      .then((client) => client.get<ClusterView>(`/clusters/${cluster.name}`, 5_000))
      .catch(waitForManager)
    tell(view ?? { sentence: 'waiting for the manager' })
    for (const problem of failedStarts(view)) tellStart(problem)
    if (view !== undefined && view.sentence !== last) [until, last] = [performance.now() + deadlineMs, view.sentence]
    if (view?.writable === true) return
    if (performance.now() > until) throw await tooLate(layout, ['supervisor', ...processNames(cluster)], began)
    await sleep(lookEveryMs, undefined, { signal }).catch(() => {
      throw new RegentError('REGENT_REFUSED', say`interrupted`)
    })
  }
}

export interface Told {
  readonly sentence: string
  /** What the sentence is without its figures; as the sentence unless given. */
  readonly news?: string
}

/** Each sentence when it comes, and again once its news is another. */
export function teller(io: Io): (told: Told) => void {
  const began = performance.now()
  let last = ''
  return ({ sentence, news = sentence }) => {
    if (news !== last) io.note(`${((performance.now() - began) / 1000).toFixed(1).padStart(6)} s  ${sentence}`)
    last = news
  }
}

/** Why a mysqld does not come up, which no sentence about the whole cluster says. */
function failedStarts(view: ClusterView | undefined): readonly Told[] {
  const codes = ['MysqldDoesNotStart', 'SettingsRefused']
  return (view?.problems ?? []).filter(({ code }) => codes.includes(code)).map(toldOf)
}

/** A problem is news by what is wrong, and where. */
export function toldOf(problem: ClusterProblem): Told {
  return { sentence: problem.sentence, news: keyOfProblem(problem) }
}

/** A manager that does not listen yet, knows no cluster yet or does not lead yet is not there yet. */
export function waitForManager(error: unknown): undefined {
  const early = [
    'REGENT_API_UNREACHABLE',
    'REGENT_TIMED_OUT',
    'REGENT_NOT_FOUND',
    'REGENT_NOT_LEADER',
    'REGENT_SHUTTING_DOWN',
    'REGENT_STORE_UNAVAILABLE',
  ]
  if (error instanceof RegentError && early.includes(error.code)) return undefined
  throw error
}

async function refuseHopeless(layout: StateLayout, began: number): Promise<void> {
  const processes = await supervisorStatus(layout)
  if (processes === undefined)
    throw new RegentError('REGENT_REFUSED', await explained(say`the supervisor ended`, layout, ['supervisor'], began))
  const failing = processes.filter((process) => process.ends >= hopelessEnds)
  if (failing.length === 0) return
  const [first] = failing
  throw new RegentError(
    'REGENT_REFUSED',
    await explained(
      say`${first?.name} ended ${first?.ends} times (${first?.lastEnd})`,
      layout,
      failing.map((process) => process.name),
      began,
    ),
  )
}

async function tooLate(layout: StateLayout, processes: readonly string[], began: number): Promise<RegentError> {
  return new RegentError(
    'REGENT_TIMED_OUT',
    await explained(say`it took no writes within ${deadlineMs / 1000} s`, layout, processes, began),
  )
}

async function explained(
  what: Sentence,
  layout: StateLayout,
  processes: readonly string[],
  began: number,
): Promise<Sentence> {
  const lines = await explainingLines(layout, processes, began)
  return lines.length === 0
    ? say`${what}; the logs in ${layout.logs} have no error`
    : say`${what}; the logs say:${text(lines.map((line) => `\n  ${line}`).join(''))}`
}
