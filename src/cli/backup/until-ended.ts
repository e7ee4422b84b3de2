import { setTimeout as sleep } from 'node:timers/promises'
import { RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import type { ClusterView } from '#api-contract/views.ts'
import type { Connection } from '../connection/place.ts'
import type { Io } from '../terminal/io.ts'

type InstanceRow = ClusterView['instances'][number]

const lookEveryMs = 500
/** A manager that restarts is waited for as long as this. */
const unseenMs = 60_000

/** What an agent does, and how that is followed. */
export interface Followed<State, Result> {
  /** `backup 20261126T031209Z` */
  readonly what: string
  readonly instance: string
  /** Undefined where the instance speaks of something else. */
  readonly of: (row: InstanceRow) => State | undefined
  /** Undefined while it goes on. Throws where it failed. */
  readonly ended: (state: State) => Result | undefined
  /** How far it is. */
  readonly line: (state: State) => string
  /** What may have become of it where nobody speaks of it any more. */
  readonly perhaps: string
}

/** Tells how it goes, until it has ended. Throws as `ended`, and where nobody speaks of it for a minute. */
export async function untilEnded<State, Result>(
  io: Io,
  { client, path }: Connection,
  { what, instance, of, ended, line, perhaps }: Followed<State, Result>,
): Promise<Result> {
  const signal = io.interrupted()
  let [told, seenAtMs] = ['', performance.now()]
  for (;;) {
    const view = await client.get<ClusterView>(path, 5_000).catch(() => undefined)
    const row = view?.instances.find(({ name }) => name === instance)
    const state = row && of(row)
    if (state !== undefined) {
      seenAtMs = performance.now()
      const result = ended(state)
      if (result !== undefined) return result
      if (line(state) !== told) io.note(line(state))
      told = line(state)
    }
    if (performance.now() - seenAtMs > unseenMs)
      throw new RegentError(
        'REGENT_TIMED_OUT',
        say`nobody speaks of ${what} any more: the agent of ${instance} was perhaps started again${reported(perhaps)}`,
        { remedy: '' },
      )
    await sleep(lookEveryMs, undefined, { signal }).catch(() => {
      throw new RegentError('REGENT_REFUSED', say`interrupted; the ${what.split(' ')[0]} goes on`)
    })
  }
}
