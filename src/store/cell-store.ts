import { emptyNotes, type ClusterNotes } from '#failover/protocol/notes.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import { codeOf, described, RegentError } from '#common/errors/errors.ts'
import { say, type Sayable } from '#common/sentence/sentence.ts'
import type { Timers } from '#common/ports/ports.ts'
import type { Cells, Lease } from './cells.ts'
import type { LeadingStore, Store } from './store.ts'
import { isSameApart, joined, readRecoveries, writeRecoveries } from './stored-recoveries.ts'
import { parseNotes, parseRecord, printNotes, printRecord } from './wire.ts'

export interface StoreLimits {
  readonly timers: Timers
  readonly deadlineMs: number
}

/** Every operation ends by then, one way or the other: the default of all stores. */
export const storeDeadlineMs = 2_000

/** An update of the notes that lost this often in a row has met something that is not a race. */
const updateAttempts = 200

const longestLeaseMs = 3_600_000

/** Cures of an object that cannot be used, by the command that removes it. */
const cures = {
  record: (removal: string) =>
    `Nothing is decided with it. Restore it from a copy; where there is none: ${removal}, and once ` +
    'every instance answers the record is built again from what they hold',
  notes: (removal: string) =>
    'The cluster goes on without them; pauses, fences and what was noted of each volume are not ' +
    `known. Restore them from a copy; where there is none, they begin anew with: ${removal}`,
} as const

/**
 * A store over a place that holds cells: names checked, texts parsed and printed, a deadline on everything, and every
 * failure of the place as `REGENT_STORE_UNAVAILABLE`.
 */
export function cellStore(cells: Cells, limits: StoreLimits): Store {
  const within = <Result>(what: Sayable, work: (signal: AbortSignal) => Promise<Result>) =>
    withDeadline(say`${cells.place}: ${what}`, limits, work)

  /** Where what is stored cannot be used: says so, which object it is, and what a person can do. */
  async function sound<Result>(
    kind: 'record' | 'notes',
    cluster: string,
    work: () => Promise<Result>,
  ): Promise<Result> {
    try {
      return await work()
    } catch (error) {
      const code = codeOf(error)
      if (code !== 'REGENT_BAD_FILE' && code !== 'REGENT_NEWER_VERSION') throw error
      const { object, removal } = cells.whereIs(`${kind}.${cluster}`)
      if (code === 'REGENT_NEWER_VERSION')
        throw new RegentError(code, say`${object}: ${described(error)}`, { cause: error })
      throw new RegentError(
        'REGENT_STORE_DAMAGED',
        say`the ${kind} of ${cluster}, ${object}, cannot be used: ${described(error)}. ${cures[kind](removal)}`,
        { cause: error },
      )
    }
  }

  async function notesOf(cluster: string) {
    const [stored, apart] = await Promise.all([
      sound('notes', cluster, async () => {
        const cell = await within(say`reading the notes of ${cluster}`, (signal) =>
          cells.read(`notes.${cluster}`, signal),
        )
        return {
          revision: cell?.revision ?? 0,
          notes: cell === undefined ? emptyNotes : parseNotes(cell.text, say`${cells.place}: notes of ${cluster}`),
        }
      }),
      within(say`reading the recoveries of ${cluster}`, (signal) => readRecoveries(cells, cluster, signal)),
    ])
    return { stored, apart, notes: { ...stored.notes, recoveries: joined(stored.notes.recoveries, apart.recoveries) } }
  }

  /**
   * The recoveries first: those that the notes still hold are gone from there only when they are kept apart. False when
   * somebody wrote meanwhile.
   */
  async function writeNotes(
    cluster: string,
    { stored, apart }: Awaited<ReturnType<typeof notesOf>>,
    next: ClusterNotes,
  ): Promise<boolean> {
    const recoveries = joined(next.recoveries, [])
    const isMoved = stored.notes.recoveries.length > 0 && apart.revision !== null
    const text = printNotes(
      { ...next, recoveries: apart.revision === null ? stored.notes.recoveries : [] },
      say`next notes of ${cluster}`,
    )
    const hasNew =
      recoveries.length !== apart.recoveries.length ||
      recoveries.some(
        ({ id, outcome, hooks }, at) =>
          id !== apart.recoveries[at]?.id ||
          outcome !== apart.recoveries[at].outcome ||
          JSON.stringify(hooks) !== JSON.stringify(apart.recoveries[at].hooks),
      )
    if (
      hasNew &&
      !(await within(say`writing the recoveries of ${cluster}`, (signal) =>
        writeRecoveries(cells, cluster, { ...apart, recoveries }, signal),
      ))
    )
      return false
    if (!isMoved && isSameApart(next, stored.notes)) return true
    const cell = { revision: stored.revision + 1, text }
    return sound('notes', cluster, () =>
      within(say`writing the notes of ${cluster}`, (signal) =>
        cells.swap(`notes.${cluster}`, stored.revision, cell, signal),
      ),
    )
  }

  async function recordOf(cluster: string): Promise<ClusterRecord | undefined> {
    const cell = await within(say`reading the record of ${cluster}`, (signal) =>
      cells.read(`record.${cluster}`, signal),
    )
    if (cell === undefined) return undefined
    const where = say`${cells.place}: record of ${cluster}`
    const record = parseRecord(cell.text, where)
    if (record.cluster !== cluster)
      throw new RegentError('REGENT_BAD_FILE', say`${where}: cluster is "${record.cluster}"; it must be "${cluster}"`)
    if (record.revision !== cell.revision)
      throw new RegentError(
        'REGENT_BAD_FILE',
        say`${where}: revision is ${record.revision}, and it was stored as ${cell.revision}`,
      )
    return record
  }

  return {
    async readRecord(cluster) {
      checkCluster(cluster)
      return sound('record', cluster, () => recordOf(cluster))
    },

    async compareAndSwap(cluster, expectedRevision, next) {
      checkCluster(cluster)
      const where = say`next record of ${cluster}`
      if (next.cluster !== cluster)
        throw new RegentError('REGENT_INTERNAL', say`${where}: it is of the cluster "${next.cluster}"`)
      if (expectedRevision !== 0 && next.revision !== expectedRevision + 1) {
        throw new RegentError(
          'REGENT_INTERNAL',
          say`${where}: revision ${next.revision} does not follow ${expectedRevision}`,
        )
      }
      const cell = { revision: next.revision, text: printRecord(next, where) }
      return sound('record', cluster, () =>
        within(say`writing the record of ${cluster}`, (signal) =>
          cells.swap(`record.${cluster}`, expectedRevision, cell, signal),
        ),
      )
    },

    async readNotes(cluster) {
      checkCluster(cluster)
      return (await notesOf(cluster)).notes
    },

    async updateNotes(cluster, change) {
      checkCluster(cluster)
      for (let attempt = 0; attempt < updateAttempts; attempt++) {
        const before = await notesOf(cluster)
        const next = change(before.notes)
        if (next === before.notes || (await writeNotes(cluster, before, next))) return next
      }
      throw new RegentError(
        'REGENT_STORE_CONFLICT',
        say`${cells.place}: the notes of ${cluster} were changed by others ${updateAttempts} times in a row`,
      )
    },

    async forget(cluster) {
      checkCluster(cluster)
      // The record last: a record without notes is whole, notes without their record are another cluster's.
      for (const kind of ['recoveries', 'notes', 'record'] as const)
        await within(say`removing the ${kind} of ${cluster}`, (signal) => cells.remove(`${kind}.${cluster}`, signal))
    },

    close: () => cells.close(),
  }
}

/** `cellStore`, and a lease in the same place. */
export function leadingCellStore(cells: Cells, lease: Lease, limits: StoreLimits): LeadingStore {
  return {
    ...cellStore(cells, limits),

    async lead(manager, ttlMs) {
      checkManager(manager)
      if (!(ttlMs > 0 && ttlMs <= longestLeaseMs))
        throw new RegentError('REGENT_BAD_REQUEST', say`ttlMs is ${ttlMs}; it must be from 1 to ${longestLeaseMs}`)
      return withDeadline(say`${cells.place}: leadership for ${manager}`, limits, (signal) =>
        lease.lead(manager, ttlMs, signal),
      )
    },

    async resign(manager) {
      checkManager(manager)
      await withDeadline(say`${cells.place}: resignation of ${manager}`, limits, (signal) =>
        lease.resign(manager, signal),
      )
    },
  }
}

/**
 * Runs `work`; past the deadline its signal is aborted and the answer no longer waited for.
 * @throws RegentError `REGENT_STORE_UNAVAILABLE` then and for every failure that has no code of its own
 */
export async function withDeadline<Result>(
  what: Sayable,
  limits: StoreLimits,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController()
  const late = Promise.withResolvers<never>()
  const timer = limits.timers.after(limits.deadlineMs, () => {
    const error = new RegentError('REGENT_STORE_UNAVAILABLE', say`${what}: no answer within ${limits.deadlineMs} ms`)
    controller.abort(error)
    late.reject(error)
  })
  try {
    return await Promise.race([work(controller.signal), late.promise])
  } catch (error) {
    if (error instanceof RegentError) throw error
    throw new RegentError('REGENT_STORE_UNAVAILABLE', say`${what}: ${described(error)}`, { cause: error })
  } finally {
    timer.cancel()
  }
}

function checkCluster(cluster: string): void {
  if (!/^[a-z][a-z0-9-]{0,38}$/.test(cluster)) {
    throw new RegentError(
      'REGENT_BAD_NAME',
      say`cluster "${cluster}": a cluster's name begins with a letter and has at most 39 lower-case letters, digits and dashes`,
    )
  }
}

function checkManager(manager: string): void {
  if (!/^[!-~]{1,200}$/.test(manager))
    throw new RegentError('REGENT_BAD_NAME', say`manager "${manager}": it must be 1 to 200 visible ASCII characters`)
}
