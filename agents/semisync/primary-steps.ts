import { counted, say } from '#common/sentence/sentence.ts'
import { unappliedOf, unionOf } from '#topology/snapshot/holdings.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import type { Channel } from '#topology/snapshot/observation.ts'
import { keepUnsettled } from '../doubts/unsettled.ts'
import { keepApplierOptions } from '../guard/channel-options.ts'
import type { Fact } from '../instance/facts.ts'
import { learn, type Learner } from '../instance/learn.ts'
import type { Leading } from '../instance/life.ts'
import type { Parts } from '../instance/parts.ts'
import type { Performers } from '../instance/steps.ts'
import { replicationUser } from '../ports/server.ts'
import { wakeWaiting, writeMarker } from './marker.ts'

const applyMs = 200

/** Steps of a primary. What each one is for is told where the steps are decided (`opening.ts`, `primary.ts`). */
export const primarySteps = {
  endForeignSessions: ({ server }) => server.killForeignSessions(),
  runEvents: ({ server }) => server.setEvents(true),
  letAccountsChange: ({ server }) => server.setReadOnly('accounts'),
  setGates: ({ server }, { open }: { open: readonly InstanceName[] }) => server.setGates(open),
  /** So many a write waits for. */
  setAcknowledgements: ({ server }, { acks }: { acks: number }) => server.setSemiSyncSource(acks),
  /** Only a new marker proves otherwise, and none that is under way. */
  doubt: async (parts, { revision }: { revision: number }) => {
    learn(parts, { fact: 'markDoubted', revision })
    await keepUnsettled(parts)
  },
  writeMarker: async (parts, { revision }: { revision: number }) => writeMarker(parts, revision),
  wakeWaiting: async (parts, { revision, connections }: { revision: number; connections: string }) =>
    wakeWaiting(parts, revision, connections),
  applyEverything,
  awaitSwitchingOff: async ({ jobs }) => void (await jobs.switchingOff),
  stopApplier: ({ server }) => server.stopApplier(),
  /** @param but those of these replicas stay */
  endDumpThreads: async ({ server }, { but }: { but: readonly InstanceName[] }) => {
    const connected = new Set(but.map(replicationUser))
    await server.waitSessionsGone(await server.killDumpThreads(({ user }) => connected.has(user)))
  },
  cutOff,
  /**
   * With the channel goes what was received and not applied, acknowledged or not: never before the applier is through.
   */
  forgetApplied: async ({ server, notices }) => {
    await server.stopReceiver()
    const unapplied = unappliedOf(await server.readHolds()).count()
    if (unapplied === 0) return server.forgetSource()
    notices.add(
      'ChannelKept',
      say`the replication channel has ${counted(unapplied, 'received transaction')} to apply, and is kept until then`,
    )
    await server.startApplier()
  },
  /**
   * What waits, a marker of the agent's own perhaps, would hold up the copy for ever. The write stays in the binlog:
   * recovery commits the write, and it is copied.
   */
  restartForCopy: async (parts) => {
    parts.notices.add(
      'RestartedForCopy',
      say`a transaction waited for an acknowledgement that no replica could give, and only this server can be copied: it is killed and started again, closed`,
    )
    learn(parts, { fact: 'restartBegan' })
    await parts.process.kill()
  },
  /** Nobody is drained: whoever decides this knows that nothing waits for an acknowledgement. */
  closeUndrained: async ({ server, observer }) => {
    try {
      await server.setReadOnly('closed', 500)
      await server.setOffline(true)
      await server.killForeignSessions()
    } finally {
      // A lease that is back opens at once, by what is so now.
      observer.outdate()
    }
  },
} satisfies Performers

interface Applying {
  readonly channel: Channel
  /** An applier would wait for acknowledgements like a client. */
  readonly waits: boolean
  readonly leading: Leading
}

/** Leaves the opening where it is while the applier is not through. */
async function applyEverything(parts: Parts, { channel, waits, leading }: Applying): Promise<Fact> {
  const { server, observer, jobs } = parts
  await server.stopReceiver()
  await keepApplierOptions(parts, channel)
  if (!channel.sqlRunning) await server.startApplier()
  // Read again now that nothing more arrives: what an older look lacks would be thrown away with the channel, and was
  // perhaps acknowledged.
  const { executed, received } = await server.readHolds()
  // What was observed may be older than that: who holds everything of this primary is judged by at least this.
  const everything = unionOf([executed, received]).toString()
  learn(parts, { fact: 'everythingRead', holds: everything })
  observer.outdate()
  if (!unappliedOf({ received, executed }).isEmpty()) {
    // Before the opening nobody acknowledges, also at a server that was primary a moment ago: its agent was elected
    // again, or died, before it had switched the source's side off.
    await jobs.switchingOff
    if (waits) await server.setSemiSyncSource(0)
  }
  if (await server.waitExecuted(received, applyMs))
    return { fact: 'made', stage: { ...leading, step: 'applied', executed: everything } }
  const sentence = say`applying ${counted(channel.backlogTransactions, 'received transaction')} before opening`
  return { fact: 'converged', done: false, sentence }
}

/** A dump thread that takes its time to go holds up neither this pass nor the orders behind it. */
async function cutOff(
  parts: Learner & Pick<Parts, 'notices' | 'server'>,
  { threads }: { readonly threads: readonly number[] },
): Promise<void> {
  const { server, jobs, notices } = parts
  const ids = await server.killDumpThreads(({ threadId }) => !threads.includes(threadId))
  if (jobs.cuttingOff !== null) return
  const until = server
    .waitSessionsGone(ids)
    .catch((error: unknown) => notices.failed('StrangerStays', say`strangers could not be cut off`, error))
    .finally(() => learn(parts, { fact: 'waitEnded', wait: 'cuttingOff' }))
  learn(parts, { fact: 'waitBegan', wait: 'cuttingOff', until })
}
