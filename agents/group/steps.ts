import { groupAddress } from '#failover/protocol/group-address.ts'
import type { Assignment, GroupTask } from '#failover/protocol/assignment.ts'
import type { Endpoint } from '#failover/protocol/message.ts'
import { describeError, RegentError } from '#common/errors/errors.ts'
import { letAccountsChange } from '../instance/account-changes.ts'
import { groupUser } from '../instance/accounts.ts'
import { learn } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'
import { step, type Step } from '../instance/pass.ts'
import type { GroupPort } from '../ports/group.ts'
import { leaderIn } from './join-turn.ts'
import { leadsGroup } from './stage.ts'

/** Steps of a member. What each one is for is told where the steps are decided (`membership.ts`). */

/** Sessions are ended: a commit under way would hold read-only up, and nobody is told that the commit is done. */
export const closeToEverybody = step('close to everybody', async ({ server, observer }) => {
  try {
    await server.setOffline(true)
    await server.killForeignSessions()
    await server.setReadOnly('closed', 500)
  } finally {
    observer.outdate()
  }
})

/**
 * A write that waits for a majority keeps its session, though that is killed, and holds read-only up until the majority
 * is back (9.7). Offline mode has told its client, and lets nobody in meanwhile.
 */
export const closeWithoutMajority = step('close to everybody', async ({ server, observer }) => {
  try {
    await server.setOffline(true)
    await unlessTooLate(server.killForeignSessions())
    await unlessTooLate(server.setReadOnly('closed', 500))
  } finally {
    observer.outdate()
  }
})

async function unlessTooLate(statement: Promise<void>): Promise<void> {
  try {
    await statement
  } catch (error) {
    if (!(error instanceof RegentError && error.code === 'REGENT_SERVER_TIMEOUT')) throw error
  }
}

export const letReadersIn = step('end offline mode', async ({ server, clientCertificate }) => {
  await clientCertificate?.show()
  await server.setOffline(false)
})

/** Only of the member that the group calls primary. */
export const openAgain = step('open', async ({ server, clientCertificate }) => {
  await clientCertificate?.show()
  await server.open()
})

export const becomePrimary = step('run events', async (parts) => {
  await parts.server.setEvents(true)
  learn(parts, { fact: 'made', stage: leadsGroup })
})

export const becomeMember = step('stop events', async (parts) => {
  await parts.server.setEvents(false)
  const sinceMs = parts.world.clock.monotonicMs()
  learn(parts, { fact: 'made', stage: { is: 'following', step: 'started', as: 'secondary', sinceMs } })
  learn(parts, { fact: 'beganHere', proposed: null })
})

/** A group may just be changing its primary, or its mode: the group, or the agent, closes the member in a moment. */
export const closeAsMember = step('stop events and close for writes', async ({ server, observer }) => {
  try {
    await server.setEvents(false)
    await server.setReadOnly('closed')
  } finally {
    observer.outdate()
  }
})

/** A member whose data are in doubt is elected only where there is nobody else. */
export function setWeight(weight: number): Step {
  return step(`set its weight to ${weight}`, async ({ server, observer }) => {
    try {
      await server.setSetting('group_replication_member_weight', String(weight))
    } finally {
      observer.outdate()
    }
  })
}

/** Between two attempts in a row: each changes the view of the whole group. */
const firstPauseMs = 500
const longestPauseMs = 60_000

/** The server was not a member for long, or could not become one: the next attempt waits, longer each time. */
export function pauseBeforeJoining(parts: Parts): void {
  const { jobs, world } = parts
  const { times } = jobs.groupPause
  const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** times)
  learn(parts, { fact: 'joinPaused', untilMs: world.clock.monotonicMs() + pauseMs })
}

export const leaveInError = step('leave the group after an error', async (parts) => {
  pauseBeforeJoining(parts)
  await groupOf(parts).stop()
  parts.expulsion?.rest()
})

/**
 * Where no majority agrees on that, the stop never ends, and meanwhile this member neither closes nor promises: what is
 * left to do then follows from the state of its group.
 */
const leaveMs = 3_000

export const leaveGroup = step('leave the group', async (parts) => {
  await groupOf(parts).stop(leaveMs)
  parts.expulsion?.rest()
})

/** The spec says another one since this server joined. */
export function setConsistency(consistency: string): Step {
  return step('set the consistency', async (parts) => {
    await groupOf(parts).setConsistency(consistency)
    parts.notices.add('ConsistencySet', `group_replication_consistency is ${consistency} for sessions that begin now`)
  })
}

/** Persisted by the function with which a person had the group change its mode. */
export const forgetMode = step('forget the mode of before', (parts) => groupOf(parts).forgetMode())

/** At the primary: the change is one of the group's transactions. */
export function setAccountOfAll(trouble: string): Step {
  return step('set the account of the group', async (parts) => {
    await groupOf(parts).setAccount(true)
    parts.notices.add(
      'GroupAccountSet',
      `account ${groupUser} was changed by another hand (it ${trouble}), and is right again for all members`,
    )
  })
}

/**
 * At a server that is outside of the group, closed and offline: accounts are not changed under `super_read_only`. The
 * change of another hand may come here once more, from the binlog of a member, and so does the primary's.
 */
export function setOwnAccount(trouble: string): Step {
  return step('set its own account of the group', async (parts) => {
    await letAccountsChange(parts, () => groupOf(parts).setAccount(false))
    parts.notices.add(
      'GroupAccountSet',
      `its own account ${groupUser} was changed by another hand (it ${trouble}), and is right again`,
    )
  })
}

/** How long what an earlier life received is applied before a group is formed of it. */
const applyMs = 60_000

/** A start takes until this server is in a view: it goes on in the background, and is begun once. */
export function joinGroup(assignment: Assignment, task: GroupTask, forms: boolean): Step {
  return step(forms ? 'form the group' : 'join the group', async (parts) => {
    const { jobs, config, notices, file, expulsion } = parts
    const others = seedsFor(assignment).filter(({ instance }) => instance !== config.instance)
    const settings = {
      name: task.name,
      consistency: task.consistency,
      seeds: others.map(groupAddress),
    }
    const start = async (): Promise<void> => {
      expulsion?.rest()
      if (forms) await applyReceived(parts)
      await groupOf(parts).start(settings, forms)
      if (!forms) return
      await lookAgain(parts)
      // On disk before anybody may join: in this epoch it is never formed again.
      await file.update({ formedEpoch: assignment.epoch })
    }
    if (jobs.startingGroup !== null) return
    const until = start()
      .then(
        () => '',
        (error: unknown) => {
          const why = describeError(error)
          pauseBeforeJoining(parts)
          notices.add('GroupNotJoined', `the group was not ${forms ? 'formed' : 'joined'}: ${why}`)
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
  })
}

/** The primary comes first: one that joins as well is in no group yet, and cannot be dialled while it starts. */
function seedsFor(assignment: Assignment): readonly Endpoint[] {
  const leader = leaderIn(assignment)
  return assignment.peers.toSorted((a, b) => Number(b.instance === leader) - Number(a.instance === leader))
}

/** A server answers slowly while its member starts, and its connections may have been lost. */
const lookAgainMs = 5_000
const betweenLooksMs = 20

/**
 * A member that is shown to have formed the group is shown in that group. With an older look beside it nobody would be
 * in the group, and the group would be formed anew.
 */
async function lookAgain({ observer, process, world }: Parts): Promise<void> {
  const { clock, timers } = world
  const untilMs = clock.monotonicMs() + lookAgainMs
  observer.outdate()
  while (process.state === 'running' && clock.monotonicMs() < untilMs) {
    await observer.refresh().catch(() => undefined)
    // Who changed something meanwhile outdated the look.
    if (observer.isFresh) return
    await timers.sleep(betweenLooksMs)
  }
}

async function applyReceived(parts: Parts): Promise<void> {
  const { server } = parts
  const { executed, received } = await server.readHolds()
  if (received === '' || received === executed) return
  await groupOf(parts).applyReceived()
  await server.waitExecuted(received, applyMs)
}

function groupOf({ server }: Parts): GroupPort {
  if (server.group === undefined) throw new TypeError('an agent in mode group has a server with a group')
  return server.group
}
