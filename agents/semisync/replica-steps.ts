import { say } from '#common/sentence/sentence.ts'
import type { Endpoint } from '#failover/protocol/message.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { unionOf } from '#topology/snapshot/holdings.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import type { Channel } from '#topology/snapshot/observation.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'
import { noticeThrownAway } from '../doubts/thrown-away.ts'
import { putApplierOptionsRight, putOptionsRight, putStoppedOptionsRight } from '../guard/channel-options.ts'
import { letAccountsChange } from '../instance/account-changes.ts'
import { learn, type Learner } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'
import type { Performers } from '../instance/steps.ts'
import { replicationUser } from '../ports/server.ts'

/**
 * The thread that receives acknowledgements looks up once a second while none come. To switch the source's side off
 * while it does not look holds every login up until it does; once it has seen that there is no replica, it waits for
 * the next word and takes no time (seen on 9.7).
 */
const acknowledgementsSeenMs = 1_100

/** Steps of a replica. What each one is for is told where the steps are decided (`replica.ts`, `under-promise.ts`). */
export const replicaSteps = {
  stopReceiver: ({ server }) => server.stopReceiver(),
  startReceiver: ({ server }) => server.startReceiver(),
  startApplier: ({ server }) => server.startApplier(),
  forgetSource: ({ server }) => server.forgetSource(),
  clearFilters: ({ server }) => server.clearFilters(),
  /** Takes effect at the receiver's next start. */
  setAcknowledging: ({ server }, { on }: { on: boolean }) => server.setSemiSyncReplica(on),
  switchAcknowledgementsOff,
  openGates: (parts, { open }: { open: readonly InstanceName[] }) =>
    letAccountsChange(parts, () => parts.server.setGates(open)),
  pointTo,
  /** Options that are changed with the receiver stopped are in the statement that names the source. */
  pointWithOptions: (parts, { source, channel }: Pointing) =>
    putOptionsRight(parts, channel, 'receiver', () => pointTo(parts, { source, channel: null }).then(() => true)),
  putApplierOptionsRight,
  putStoppedOptionsRight,
  /** In this order: with a receiver that goes on, only what was read before is on disk after. */
  reportHeld: async (parts, { epoch }: { epoch: number }) => {
    const { executed, received, owned } = await parts.server.readHolds()
    await parts.volume.syncRelayLogs()
    const holds = unionOf([executed, received, owned])
    await noticeThrownAway(parts, holds)
    const report = { epoch, holds: holds.toString(), executed: parseGtidSet(executed).toString(), asPrimary: false }
    return { fact: 'reported', report }
  },
  /**
   * The instance was primary, and nobody started its server since: what it holds may be all that is left of an
   * election's set.
   */
  reportTheDead: async ({ volume }, { epoch, purged }: { epoch: number; purged: GtidText }) => {
    const holds = unionOf([await volume.readBinlogSet(), purged]).toString()
    return { fact: 'reported', report: { epoch, holds, executed: holds, asPrimary: true }, ofFiles: true }
  },
} satisfies Performers

/**
 * A replica's applier would wait for acknowledgements that nobody gives, so the source's side is switched off before it
 * starts. The switch takes up to a second after there were replicas: so it goes on in the background, so that no
 * promise waits behind it.
 */
async function switchAcknowledgementsOff(
  parts: Learner & Pick<Parts, 'changed' | 'notices' | 'server' | 'world'>,
): Promise<void> {
  const { server, jobs, notices, world, changed } = parts
  if (jobs.switchingOff !== null) return
  const until = server
    .killDumpThreads(() => false)
    .then((ids) => server.waitSessionsGone(ids))
    .then(() => world.timers.sleep(acknowledgementsSeenMs))
    .then(() => server.setSemiSyncSource(0))
    .catch((error: unknown) => notices.failed('AcknowledgementsSet', say`switching acknowledgements off failed`, error))
    .finally(() => {
      learn(parts, { fact: 'waitEnded', wait: 'switchingOff' })
      changed()
    })
  learn(parts, { fact: 'waitBegan', wait: 'switchingOff', until })
}

interface Pointing {
  readonly source: Endpoint
  /** As it is; null where it is to be pointed anew in any case. */
  readonly channel: Channel | null
}

async function pointTo(
  { server, config, replicationPassword }: Pick<Parts, 'config' | 'replicationPassword' | 'server'>,
  { source, channel }: Pointing,
): Promise<void> {
  const user = replicationUser(config.instance)
  const isAsEncrypted = config.tls === undefined || channel?.encrypted === true
  const isThere = channel?.sourceHost === source.host && channel.sourcePort === source.port
  if (isAsEncrypted && isThere && channel.sourceUser === user) return
  await server.pointTo({ host: source.host, port: source.port, user, password: replicationPassword })
}
