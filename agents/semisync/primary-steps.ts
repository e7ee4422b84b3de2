import type { PrimaryAssignment } from '#failover/protocol/assignment.ts'
import { counted } from '#common/text/words.ts'
import { describeError } from '#common/errors/errors.ts'
import { unappliedOf, unionOf } from '#topology/snapshot/holdings.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import type { Channel, ServerState } from '#topology/snapshot/observation.ts'
import { keepUnsettled } from '../doubts/unsettled.ts'
import { keepApplierOptions } from '../guard/channel-options.ts'
import { learn } from '../instance/learn.ts'
import type { Leading } from '../instance/life.ts'
import { outdate, step, type NextPass, type Step } from '../instance/pass.ts'
import type { Parts } from '../instance/parts.ts'
import { replicationUser } from '../ports/server.ts'

/** Steps of a primary. What each one is for is told where the steps are decided (`opening.ts`, `primary.ts`). */

export const lockOut = step('refuse logins', ({ server }) => server.setOffline(true))
export const endForeignSessions = step('end foreign sessions', ({ server }) => server.killForeignSessions())
export const runEvents = step('run events', ({ server }) => server.setEvents(true))
const letAccountsChange = step('let accounts change', ({ server }) => server.setReadOnly('accounts'))

/** Before anybody is let in clients are shown what they are to be shown. */
export const letIn = step('open', async ({ server, clientCertificate }) => {
  await clientCertificate?.show()
  await server.open()
})

/**
 * Something may have been acknowledged that nobody holds: only a new marker proves otherwise, and none that is under
 * way.
 */
export function doubt({ revision }: PrimaryAssignment): Step {
  return step('doubt what was acknowledged', async (parts) => {
    learn(parts, { fact: 'markDoubted', revision })
    await keepUnsettled(parts)
  })
}

/** Leaves the opening where it is while the applier is not through. */
export function applyEverything(state: ServerState, channel: Channel, leading: Leading): Step {
  return {
    name: 'apply everything received',
    run: async (parts) => {
      const { server, observer } = parts
      await server.stopReceiver()
      await keepApplierOptions(parts, channel)
      if (!channel.sqlRunning) await server.startApplier()
      // Read again now that nothing more arrives: what `state` lacks would be thrown away with the channel, and was
      // perhaps acknowledged.
      const { executed, received } = await server.readHolds()
      // What was observed may be older than that: who holds everything of this primary is judged by at least this.
      const everything = unionOf([executed, received]).toString()
      learn(parts, { fact: 'everythingRead', holds: everything })
      observer.outdate()
      if (!unappliedOf({ received, executed }).isEmpty()) await letApplierWaitForNobody(parts, state)
      if (await server.waitExecuted(received, applyMs))
        return { fact: 'made', stage: { ...leading, step: 'applied', executed: everything } }
      const sentence = `applying ${counted(channel.backlogTransactions, 'received transaction')} before opening`
      return { fact: 'converged', done: false, sentence }
    },
  }
}

const applyMs = 200

/**
 * An applier waits for acknowledgements like a client, and before the opening nobody gives one. So does the applier of
 * a server that was primary a moment ago, where the agent was elected again, or died, before it had switched the
 * source's side off.
 */
async function letApplierWaitForNobody({ server, jobs }: Parts, { semiSyncSource }: ServerState): Promise<void> {
  await jobs.switchingOff
  if (semiSyncSource.enabled) await server.setSemiSyncSource(0)
}

/** Gates and k exactly as assigned, once nothing that an earlier life left behind can acknowledge. */
export function prepareToOpen(assignment: PrimaryAssignment, stopsApplier: boolean): readonly Step[] {
  const connected = new Set(
    assignment.connected?.filter((instance) => assignment.counted.includes(instance)).map(replicationUser),
  )
  return [
    step('await the end of acknowledgements', async ({ jobs }) => jobs.switchingOff),
    ...(stopsApplier ? [step('stop the applier', ({ server }) => server.stopApplier())] : []),
    step('end leftover dump threads', async ({ server }) =>
      server.waitSessionsGone(await server.killDumpThreads(({ user }) => connected.has(user))),
    ),
    letAccountsChange,
    ...gatesAndAcknowledgements(assignment),
  ]
}

function gatesAndAcknowledgements({ counted, catchingUp, acks }: PrimaryAssignment): readonly Step[] {
  return [setGates([...counted, ...catchingUp]), changeAcknowledgements(acks)]
}

function setGates(open: readonly InstanceName[]): Step {
  return step(`gates ${open.join()}`, ({ server }) => server.setGates(open))
}

export function changeAcknowledgements(acks: number): Step {
  return step(`acknowledgements ${acks}`, ({ server }) => server.setSemiSyncSource(acks))
}

/**
 * A primary that is closed, or was demoted and goes on, is super read-only: no account can be changed then, not even
 * without the binary log.
 */
export function changeGates(open: readonly InstanceName[], { superReadOnly }: ServerState): readonly Step[] {
  return [...(superReadOnly ? [letAccountsChange] : []), setGates(open)]
}

/**
 * A new assignment is applied as a whole, and the server looked at again: what differs after that was changed by
 * another hand. So was what differs before from the assignment that was in force.
 */
export function assignmentApplied(assignment: PrimaryAssignment, state: ServerState, leading: Leading): NextPass {
  const { counted, catchingUp, acks, revision } = assignment
  const isDoubted = isLoosened(state, leading.applied ?? assignment)
  return {
    steps: [
      ...(isDoubted ? [doubt(assignment)] : []),
      ...changeGates([...counted, ...catchingUp], state),
      changeAcknowledgements(acks),
      outdate,
    ],
    then: [
      { fact: 'made', stage: { ...leading, applied: assignment } },
      { fact: 'converged', revision },
    ],
    next: 'after a look',
  }
}

/** Another hand let writes through that waited for fewer acknowledgements than `applied` asks for. */
function isLoosened({ semiSyncSource }: ServerState, { acks }: PrimaryAssignment): boolean {
  const { enabled, acks: k, intact } = semiSyncSource
  return acks > 0 && (!enabled || k < acks || !intact)
}

/** A dump thread that takes its time to go holds up neither this pass nor the orders behind it. */
export function cutOff(threads: readonly number[]): Step {
  return step('end dump threads of strangers', async (parts) => {
    const { server, jobs, notices } = parts
    const ids = await server.killDumpThreads(({ threadId }) => !threads.includes(threadId))
    if (jobs.cuttingOff !== null) return
    const until = server
      .waitSessionsGone(ids)
      .catch((error: unknown) => notices.add('StrangerStays', describeError(error)))
      .finally(() => learn(parts, { fact: 'waitEnded', wait: 'cuttingOff' }))
    learn(parts, { fact: 'waitBegan', wait: 'cuttingOff', until })
  })
}

/**
 * With the channel goes what was received and not applied, acknowledged or not: never before the applier is through.
 */
export const forgetApplied = step('forget the source, once applied', async ({ server, notices }) => {
  await server.stopReceiver()
  const unapplied = unappliedOf(await server.readHolds()).count()
  if (unapplied === 0) return server.forgetSource()
  notices.add(
    'ChannelKept',
    `its replication channel has ${counted(unapplied, 'received transaction')} to apply, and is kept until then`,
  )
  await server.startApplier()
})

/**
 * What waits, a marker of the agent's own perhaps, would hold up the copy for ever. The write stays in the binlog:
 * recovery commits the write, and it is copied.
 */
export const restartForCopy = step('restart for a copy', async (parts) => {
  parts.notices.add(
    'RestartedForCopy',
    'something waited for an acknowledgement that no replica could give, and this server is the only ' +
      'one that can be copied: it is killed and started again, closed',
  )
  learn(parts, { fact: 'restartBegan' })
  await parts.process.kill()
})

export const kill = step('kill', ({ process }) => process.kill())

/** Nobody is drained: whoever calls this knows that nothing waits for an acknowledgement. */
export const closeUndrained = step('close', async ({ server, observer }) => {
  try {
    await server.setReadOnly('closed', 500)
    await server.setOffline(true)
    await server.killForeignSessions()
  } finally {
    // A lease that is back opens at once, by what is so now.
    observer.outdate()
  }
})
