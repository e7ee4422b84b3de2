import { say, text } from '#common/sentence/sentence.ts'
import { describeError, RegentError } from '#common/errors/errors.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { unionOf } from '#topology/snapshot/holdings.ts'
import { settingsSteps } from '../guard/managed-settings.ts'
import { letAccountsChange } from '../instance/account-changes.ts'
import { groupUser } from '../instance/accounts.ts'
import { learn, type Learner } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'
import type { NextPass as PassOf } from '../instance/pass.ts'
import { commonSteps, type Performers, type StepOf } from '../instance/steps.ts'
import type { GroupPort, GroupSettings } from '../ports/group.ts'
import { judgeBegun } from './begun-here.ts'
import { leadsGroup, marksOfForming } from './stage.ts'

/**
 * Where no majority agrees on that, the stop never ends, and meanwhile this member neither closes nor promises: what is
 * left to do then follows from the state of its group.
 */
const leaveMs = 3_000

/** All that is done in mode `group`. What each step is for is told where it is decided (`membership.ts`). */
export const groupSteps = {
  ...commonSteps,
  ...settingsSteps,
  /** Sessions are ended: a commit under way would hold read-only up, and nobody is told that the commit is done. */
  closeToEverybody: (parts) => closeToEverybody(parts, (statement) => statement),
  /**
   * A write that waits for a majority keeps its session, though that is killed, and holds read-only up until the
   * majority is back (9.7). Offline mode has told its client, and lets nobody in meanwhile.
   */
  closeWithoutMajority: (parts) => closeToEverybody(parts, unlessTooLate),
  letReadersIn: async ({ server, clientCertificate }) => {
    await clientCertificate?.show()
    await server.setOffline(false)
  },
  becomePrimary: async (parts) => {
    await parts.server.setEvents(true)
    learn(parts, { fact: 'made', stage: leadsGroup })
  },
  becomeMember: async (parts) => {
    await parts.server.setEvents(false)
    const sinceMs = parts.world.clock.monotonicMs()
    learn(parts, { fact: 'made', stage: { is: 'following', step: 'started', as: 'secondary', sinceMs } })
    learn(parts, { fact: 'beganHere', proposed: null })
  },
  /** A group may just be changing its primary, or its mode: the group, or the agent, closes the member in a moment. */
  closeAsMember: async ({ server, observer }) => {
    try {
      await server.setEvents(false)
      await server.setReadOnly('closed')
    } finally {
      observer.outdate()
    }
  },
  /** A member that is fenced, or whose data are in doubt, is elected only where there is nobody else. */
  setWeight: async ({ server, observer }, { weight }: { weight: number }) => {
    try {
      await server.setSetting('group_replication_member_weight', String(weight))
    } finally {
      observer.outdate()
    }
  },
  leaveInError: async (parts) => {
    pauseBeforeJoining(parts)
    await groupOf(parts).stop()
    parts.expulsion?.rest()
  },
  /** A stop and a start wait for each other in the server: no start is under way once a stop was answered. */
  leaveGroup: async (parts) => {
    await groupOf(parts).stop(leaveMs)
    learn(parts, { fact: 'groupMayBeStarting', mayBeStartingGroup: false })
    parts.expulsion?.rest()
  },
  /** The spec says another one since this server joined. */
  setConsistency: async (parts, { consistency }: { consistency: string }) => {
    await groupOf(parts).setConsistency(consistency)
    parts.notices.add(
      'ConsistencySet',
      say`group_replication_consistency is ${consistency} for sessions that begin now`,
    )
  },
  /** Persisted by the function with which a person had the group change its mode. */
  forgetMode: (parts) => groupOf(parts).forgetMode(),
  /** At the primary: the change is one of the group's transactions. */
  setAccountOfAll: async (parts, { trouble }: { trouble: string }) => {
    await groupOf(parts).setAccount(true)
    parts.notices.add(
      'GroupAccountSet',
      say`account ${groupUser} was changed by another hand (it ${text(trouble)}), and is right again for all members`,
    )
  },
  /**
   * At a server that is outside of the group, closed and offline: accounts are not changed under `super_read_only`. The
   * change of another hand may come here once more, from the binlog of a member, and so does the primary's.
   */
  setOwnAccount: async (parts, { trouble }: { trouble: string }) => {
    await letAccountsChange(parts, () => groupOf(parts).setAccount(false))
    parts.notices.add(
      'GroupAccountSet',
      say`the account ${groupUser} of this server was changed by another hand (it ${text(trouble)}), and is right again`,
    )
  },
  waitForTurn: async (parts, { waitMs }: { waitMs: number }) => {
    learn(parts, { fact: 'joinsNotBefore', untilMs: parts.world.clock.monotonicMs() + waitMs })
    learn(parts, { fact: 'joinsInTurn', joinsInTurn: null })
  },
  joinGroup,
  judgeBegun,
  /** @param isSeeding what is there now is given up */
  reportOutside: async ({ server, volume }, { epoch, isSeeding }: { epoch: number; isSeeding: boolean }) => {
    const { executed, received } = isSeeding ? { executed: '', received: '' } : await server.readHolds()
    await volume.syncRelayLogs()
    const holds = unionOf([executed, received]).toString()
    const report = { epoch, holds, executed: parseGtidSet(executed).toString(), asPrimary: false }
    return { fact: 'reported', report }
  },
} satisfies Performers

export type Step = StepOf<typeof groupSteps>
export type NextPass = PassOf<Step>

type Bounded = (statement: Promise<void>) => Promise<void>

async function closeToEverybody(
  { server, observer }: Pick<Parts, 'observer' | 'server'>,
  bounded: Bounded,
): Promise<void> {
  try {
    await server.setOffline(true)
    await bounded(server.killForeignSessions())
    await bounded(server.setReadOnly('closed', 500))
  } finally {
    observer.outdate()
  }
}

async function unlessTooLate(statement: Promise<void>): Promise<void> {
  try {
    await statement
  } catch (error) {
    if (!(error instanceof RegentError && error.code === 'REGENT_SERVER_TIMEOUT')) throw error
  }
}

/** Between two attempts in a row: each changes the view of the whole group. */
const firstPauseMs = 500
const longestPauseMs = 60_000

/** The server was not a member for long, or could not become one: the next attempt waits, longer each time. */
export function pauseBeforeJoining(parts: Learner & Pick<Parts, 'world'>): void {
  const { jobs, world } = parts
  const { times } = jobs.groupPause
  const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** times)
  learn(parts, { fact: 'joinPaused', untilMs: world.clock.monotonicMs() + pauseMs })
}

/** How long what an earlier life received is applied before a group is formed of it. */
const applyMs = 60_000

interface Joining {
  readonly settings: GroupSettings
  /** The epoch in which it forms the group; null where it joins one. */
  readonly formsIn: number | null
}

/** A start takes until this server is in a view: it goes on in the background, and is begun once. */
async function joinGroup(parts: Parts, { settings, formsIn }: Joining): Promise<void> {
  const { jobs, notices, file, expulsion, process } = parts
  const { pid } = process
  const forms = formsIn !== null
  const start = async (): Promise<void> => {
    expulsion?.rest()
    if (forms) await applyReceived(parts)
    await groupOf(parts).start(settings, forms)
    if (formsIn === null) return
    await lookAgain(parts)
    // On disk before anybody may join: in this epoch it is never formed again.
    await file.update(marksOfForming(file.current, formsIn))
  }
  if (jobs.startingGroup !== null) return
  const until = start()
    .then(
      () => '',
      (error: unknown) => {
        const why = describeError(error)
        pauseBeforeJoining(parts)
        const goesOn = isUnanswered(error) && process.pid === pid && process.state === 'running'
        learn(parts, { fact: 'groupMayBeStarting', mayBeStartingGroup: goesOn })
        notices.failed('GroupNotJoined', say`the group was not ${forms ? say`formed` : say`joined`}`, error)
        return why
      },
    )
    .then((failure) => {
      learn(parts, { fact: 'groupStartEnded', failure })
      // What was seen before shows a server that is in no group.
      parts.observer.outdate()
      parts.changed()
      // What the group made of this server is seen by a look alone.
      void parts.observer.refresh().catch(() => undefined)
    })
  learn(parts, { fact: 'waitBegan', wait: 'startingGroup', until })
}

/** Nobody broke the start off in the server: this server may be in a group a moment later, whatever it shows now. */
function isUnanswered(error: unknown): boolean {
  return error instanceof RegentError && unanswered.has(error.code)
}

const unanswered: ReadonlySet<string> = new Set(['REGENT_SERVER_TIMEOUT', 'REGENT_SERVER_DOWN'])

/** A server answers slowly while its member starts, and its connections may have been lost. */
const lookAgainMs = 5_000
const betweenLooksMs = 20

/**
 * A member that is shown to have formed the group is shown in that group. With an older look beside it nobody would be
 * in the group, and the group would be formed anew.
 */
async function lookAgain({ observer, process, world }: Pick<Parts, 'observer' | 'process' | 'world'>): Promise<void> {
  const { clock, timers } = world
  const untilMs = clock.monotonicMs() + lookAgainMs
  observer.outdate()
  while (process.state === 'running' && clock.monotonicMs() < untilMs) {
    await observer.refresh().catch(() => undefined)
    // A change meanwhile may have outdated the look.
    if (observer.isFresh) return
    await timers.sleep(betweenLooksMs)
  }
}

async function applyReceived(parts: Pick<Parts, 'server'>): Promise<void> {
  const { server } = parts
  const { executed, received } = await server.readHolds()
  if (received === '' || received === executed) return
  await groupOf(parts).applyReceived()
  await server.waitExecuted(received, applyMs)
}

function groupOf({ server }: Pick<Parts, 'server'>): GroupPort {
  if (server.group === undefined) throw new TypeError('an agent in mode group has a server with a group')
  return server.group
}
