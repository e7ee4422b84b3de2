import type { Heard } from '#common/sentence/sentence.ts'
import { anyBoolean, byName, objectOf, oneOf, optional, text, type Shape, type Shaped } from '#common/input/shapes.ts'
import type { WatchView } from '#common/watch/watch.ts'
import type { Transport } from '#common/ports/ports.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'
import { backupTask } from './backup-task.ts'
import { backupStore } from './backup-store.ts'
import {
  archiveSearch,
  storeQuestion,
  type ArchiveSearch,
  type FoundTransactions,
  type RestoreWindow,
  type StoredBackups,
} from './stored-backups.ts'
import { atLeast, count, duration, forgetful, gtids, member, message, name, version } from './message.ts'

/** What an agent is told or asked without being ordered anything, by a manager that leads or by a peer. */
interface WordEntry<T> {
  /** The path in the agent's HTTP interface: a word is POSTed there. */
  readonly route: `/v1/${string}`
  readonly shape: Shape<T>
}

function word<T>(route: WordEntry<T>['route'], shape: Shape<T>): WordEntry<T> {
  return { route, shape }
}

const compare = objectOf({
  /** Shown with the answer (`Observation.compared`). */
  question: count,
  held: byName(objectOf({ as: text(0, 256), gtids })),
})

export interface LeavingAnswer {
  readonly done: boolean
  /** Where the instance is on its way. */
  readonly sentence: Heard
}

export interface LeaseVote {
  readonly granted: boolean
  readonly promise: number
  /** What it has executed, so that binlogs are kept which it lacks. Absent or null: not known, or an older agent. */
  readonly executed?: GtidText | null
  /** What the archive of backups holds, or needs no more, as the primary knows. Absent: not known, or older agent. */
  readonly archived?: GtidText
}

const table = {
  /** The manager confirms the epoch, from a record read begun after the question arrived. */
  lease: word(
    '/v1/lease',
    message({
      question: atLeast(0),
      /**
       * Replicas that are to be told what to catch up with, with their `forgetfulAs`. Only said to an agent that shows
       * `heardForgetful` and not `takesWord`: an even older agent refuses the order, a newer one is told by `word`.
       */
      forgetful: optional(forgetful),
    }),
  ),

  /**
   * A manager that leads is there and has heard this primary. Said unasked, from no record: no lease is confirmed by
   * it. Only sent to an agent that shows `takesWord`: an older agent does not know the route.
   */
  word: word(
    '/v1/word',
    message({
      /** Replicas that are to be told what to catch up with, with their `forgetfulAs`. Absent for none. */
      forgetful: optional(forgetful),
      /**
       * Which of these does its server lack, by a look that begins after this has arrived? By replica, of whom it is
       * asked (`askedAs`) and which transactions. Only said to an agent that shows `compared`. Absent for no question.
       */
      compare: optional(compare),
    }),
  ),

  /** What became of what the agent asked for (`Ask`). */
  answer: word(
    '/v1/answer',
    objectOf({
      version,
      cluster: name,
      member,
      id: name,
      outcome: oneOf('done', 'refused', 'timedOut'),
      /** Why, or what was done. */
      sentence: text(0, 16_384),
    }),
  ),

  /** A peer has a caller who wants this instance to leave its cluster, or to come back. Said again and again. */
  leaving: word('/v1/leaving', objectOf({ version, cluster: name, instance: name, leaves: anyBoolean })),

  /**
   * A person wants mysqld restarted: stop in order, as for a pod that ends, once another is primary and the instance
   * does not count, and start again. A wish that comes to nothing within this time is over. An older agent does not
   * know the route.
   */
  restart: word('/v1/restart', objectOf({ version, cluster: name, member, withinMs: duration })),

  /** A peer's question: do you know of an epoch newer than mine? */
  leaseVote: word('/v1/lease-vote', objectOf({ version, cluster: name, asking: name, epoch: atLeast(0) })),

  /**
   * Make a base backup of this instance. What is said twice is done once. How that goes shows in the observation. An
   * older agent does not know the route.
   */
  backUp: word(
    '/v1/back-up',
    objectOf({
      version,
      cluster: name,
      member,
      name,
      store: backupStore,
    }),
  ),

  /**
   * Restore the newest backup and its binlogs into a throw-away server beside the instance's own, check every table,
   * and remove all of that: only then a backup is known to be one. What is said twice is done once. How that goes shows
   * in the observation. An older agent does not know the route.
   */
  rehearse: word('/v1/rehearse', objectOf({ version, cluster: name, member, name, store: backupStore })),

  /**
   * Ship these transactions out of your binlogs to the archive of backups, which lacks them, as the primary's do: in
   * this epoch. How that goes shows in the observation. Only said to an agent that shows `closesHoles`.
   */
  closeHole: word(
    '/v1/close-hole',
    objectOf({ version, cluster: name, member, epoch: atLeast(1), gtids, store: backupStore }),
  ),

  /**
   * Which of these transactions are in your logs, and where? Asked by the one that is elected, of the agent of a dead
   * primary that promised the same epoch. In mode `async` alone: an older agent does not know the route.
   */
  tail: word('/v1/tail', objectOf({ version, cluster: name, member, epoch: atLeast(1), gtids })),

  /** And this part of one of those files, please. */
  tailPart: word(
    '/v1/tail-part',
    objectOf({ version, cluster: name, member, epoch: atLeast(1), file: text(1, 255), offset: count, end: count }),
  ),

  /**
   * What the spec says of backups: the agent looks after the store while it is the primary's. Only said to an agent
   * that shows `backupTask`: an older agent does not know the route.
   */
  backups: word(
    '/v1/backups',
    objectOf({
      version,
      cluster: name,
      member,
      /** Absent: no backups are made. */
      task: optional(backupTask),
      /**
       * Another instance has seen the folder of the cluster in that store: one that is empty has lost it. Only said to
       * an agent that shows `knowsStore`.
       */
      used: optional(anyBoolean),
    }),
  ),

  /**
   * A person wants to know what lies in the store of backups, from when to when can be restored, and which transactions
   * of the archive did something to a table. Only said to an agent that shows `readsStore`.
   */
  storedBackups: word('/v1/stored-backups', objectOf(storeQuestion)),
  restoreWindow: word('/v1/restore-window', objectOf(storeQuestion)),
  findInArchive: word('/v1/find-in-archive', objectOf({ ...storeQuestion, ...archiveSearch })),

  /**
   * A person wants to know what this agent looks after again and again, and what it got to know last. An older agent
   * does not know the route, or tells no facts.
   */
  watches: word('/v1/watches', objectOf({ version, cluster: name })),
}

type Bodies = { readonly [N in keyof typeof table]: (typeof table)[N] extends WordEntry<infer T> ? T : never }

export type WordName = keyof Bodies
export type Word<N extends WordName> = Bodies[N]

export const words: { readonly [N in WordName]: WordEntry<Bodies[N]> } = table
export const wordNames = Object.keys(table) as readonly WordName[]

/** What an agent got to know, and how long ago. */
export interface FactView {
  readonly agoMs: number
  /** Its name in `agents/instance/facts.ts`. */
  readonly fact: string
  readonly detail: string
}

/** What a backup or a rehearsal said, and how long ago. */
export interface RunStep {
  readonly agoMs: number
  readonly kind: 'backup' | 'rehearsal'
  readonly name: string
  readonly sentence: string
}

/** What an agent answers to a word: to most words only that it heard them. */
export interface Answers extends Record<WordName, object> {
  readonly tail: {
    readonly files: readonly {
      readonly name: string
      /** Base64. */
      readonly head: string
      readonly ranges: readonly { readonly offset: number; readonly end: number }[]
    }[]
    readonly gtids: GtidText
    readonly halfWrittenBytes: number
  }
  readonly tailPart: {
    /** Base64. */
    readonly bytes: string
    readonly sha256: string
  }
  readonly leaving: LeavingAnswer
  readonly leaseVote: LeaseVote
  readonly storedBackups: StoredBackups
  readonly restoreWindow: RestoreWindow
  readonly findInArchive: FoundTransactions
  readonly watches: {
    readonly watches: readonly WatchView[]
    readonly facts?: readonly FactView[]
    readonly runs?: readonly RunStep[]
  }
}

/** What people ask about a store, by an agent that reads there; with what is said beside where the store is. */
export interface StoreQuestions {
  readonly storedBackups: object
  readonly restoreWindow: object
  readonly findInArchive: ArchiveSearch
}

export type LeaseConfirmation = Word<'lease'>
export type LeaderWord = Word<'word'>
export type AskAnswer = Word<'answer'>
export type LeavingRequest = Word<'leaving'>
export type LeaseVoteRequest = Word<'leaseVote'>
export type Comparing = Shaped<typeof compare>

/** POSTs a word to the agent at `address` (`host:port`). Throws as `Transport.post` does. */
export async function sayWord<N extends WordName>(
  { transport, deadlineMs }: { readonly transport: Transport; readonly deadlineMs: number },
  address: string,
  name: N,
  said: Word<N>,
): Promise<Answers[N]> {
  return (await transport.post(address, words[name].route, said, deadlineMs)) as Answers[N]
}
