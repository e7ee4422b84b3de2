import { described, describeError, RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import type { Logger } from '#common/log/logger.ts'
import type { Timer, World } from '#common/ports/ports.ts'
import { taskMessage } from '../events/messages.ts'
import type { Task } from '../wire/definitions.ts'
import { taskReason, type TaskEvent } from '../wire/events.ts'
import type { Loaded } from './load-copy.ts'
import type { LoadOrder } from './new-replica.ts'

export interface WorkerParts {
  /** Name of the pod. */
  readonly pod: string
  readonly world: Pick<World, 'clock' | 'timers'>
  readonly log: Logger
  readonly signal: AbortSignal
  /** Loads the data of a new replica; `progress` is given what counts the bytes. Rejects with a sentence. */
  readonly load: (task: LoadOrder, progress: (bytes: () => number) => void) => Promise<Loaded>
  /** Tells the manager how a task stands. */
  readonly tell: (reason: string, text: string) => Promise<void>
}

const shortestReportMs = 15_000

/**
 * Does the tasks of this pod, one after the other; tasks of other pods are passed over. Throws `REGENT_TASK_FAILED`
 * after the first that failed, or whose end could not be told: the kubelet then starts the worker again.
 */
export async function runTasks(tasks: readonly Task[], parts: WorkerParts): Promise<void> {
  const own = tasks.filter(({ replicas }) =>
    replicas
      .split(',')
      .map((name) => name.trim())
      .includes(parts.pod),
  )
  parts.log.info({ tasks: own.map(({ task, UID }) => ({ task, UID })) }, `${own.length} tasks for ${parts.pod}`)
  for (const task of own) await runTask(task, parts)
}

async function runTask(task: Task, parts: WorkerParts): Promise<void> {
  const { clock } = parts.world
  const startMs = clock.wallMs()
  const reports = reportProgress(task, startMs, parts)
  const failure = await work(task, parts, reports.progress).catch((error: unknown) => describeError(error))
  reports.end()
  if (task.notifyAtFinish === true) {
    const event = { ...eventOf(task, parts.pod, startMs), endMs: clock.wallMs(), message: failure ?? '' }
    await notify({ ...event, code: failure === undefined ? 0 : -1 }, parts, failure)
  }
  if (failure !== undefined)
    throw new RegentError('REGENT_TASK_FAILED', say`task ${task.task} (${task.UID}): ${reported(failure)}`)
}

const inWords: Readonly<Record<Loaded['checked'], string>> = {
  all: 'each checked against the source',
  end: 'none of them checked, since the source vouches for nothing; the stream had its end, and the files of a data folder',
  nothing: 'none of them checked: the source vouches for nothing',
  before: 'by an earlier run of this worker for the same task: nothing was done again',
}

/** Undefined where all went well. */
async function work(
  { task: name, newReplica, UID }: Task,
  { load, log }: WorkerParts,
  progress: (bytes: () => number) => void,
): Promise<string | undefined> {
  if (name !== 'newReplica') return `${name.slice(0, 60)} is no task that is known; newReplica is`
  if (newReplica === undefined) return 'it has no newReplica, which says where the data comes from'
  const { bytes, checked } = await load({ ...newReplica, UID }, progress)
  log.info({ task: name, UID, bytes }, `${bytes} bytes were loaded, ${inWords[checked]}`)
  return undefined
}

async function notify(event: TaskEvent, parts: WorkerParts, failure: string | undefined): Promise<void> {
  try {
    await parts.tell(taskReason, taskMessage(event))
  } catch (cause) {
    const why = say`its end could not be told: ${described(cause)}`
    throw new RegentError(
      'REGENT_TASK_FAILED',
      say`task ${event.task} (${event.UID}): ${failure === undefined ? why : say`${reported(failure)}; ${why}`}`,
      { cause },
    )
  }
}

/** Tells each report period how many bytes came. A report that is lost is followed by another. */
function reportProgress(task: Task, startMs: number, { pod, world, log, tell }: WorkerParts) {
  let [timer, isTelling]: [Timer | undefined, boolean] = [undefined, false]
  const { reportPeriodSeconds = 0 } = task
  const progress = (bytes: () => number): void => {
    if (reportPeriodSeconds <= 0) return
    timer = world.timers.every(Math.max(reportPeriodSeconds * 1_000, shortestReportMs), () => {
      if (isTelling) return
      isTelling = true
      const message = `${bytes()} bytes were received`
      void tell(taskReason, taskMessage({ ...eventOf(task, pod, startMs), message }))
        .catch((error: unknown) => log.warn(`progress could not be told: ${describeError(error)}`))
        .finally(() => (isTelling = false))
    })
  }
  return { progress, end: () => timer?.cancel() }
}

function eventOf({ instance, task, UID }: Task, replica: string, startMs: number): TaskEvent {
  return { instance, task, UID, replica, startMs, endMs: null, code: 0, output: Buffer.alloc(0), message: '' }
}
