import { describeError } from '#common/errors/errors.ts'
import type { Endpoint } from '#failover/protocol/message.ts'
import type { Channel, ServerState } from '#topology/snapshot/observation.ts'
import { putOptionsRight } from '../guard/channel-options.ts'
import { letAccountsChange } from '../instance/account-changes.ts'
import { instancesOf } from '../instance/accounts.ts'
import { learn } from '../instance/learn.ts'
import { step, type Step, type View } from '../instance/pass.ts'
import type { Parts } from '../instance/parts.ts'
import { replicationUser } from '../ports/server.ts'

/** Steps of a replica. What each one is for is told where the steps are decided (`replica.ts`). */

/**
 * The thread that receives acknowledgements looks up once a second while none come. To switch the source's side off
 * while it does not look holds every login up until it does; once it has seen that there is no replica, it waits for
 * the next word and takes no time (seen on 9.7).
 */
const acknowledgementsSeenMs = 1_100

export const stopReceiver = step('stop the receiver', ({ server }) => server.stopReceiver())
export const startReceiver = step('start the receiver', ({ server }) => server.startReceiver())
export const startApplier = step('start the applier', ({ server }) => server.startApplier())
export const forgetSource = step('forget the source', ({ server }) => server.forgetSource())
export const clearFilters = step('clear filters', ({ server }) => server.clearFilters())

export function setOffline(on: boolean): Step {
  return step(on ? 'refuse logins' : 'take logins', ({ server }) => server.setOffline(on))
}

/** Takes effect at the receiver's next start. */
export function willAcknowledge(counted: boolean): Step {
  return step(counted ? 'acknowledge' : 'do not acknowledge', ({ server }) => server.setSemiSyncReplica(counted))
}

/**
 * A replica's applier would wait for acknowledgements that nobody gives, so the source's side is switched off before it
 * starts. That takes up to a second after there were replicas: it goes on in the background, so that no promise waits
 * behind it.
 */
export const switchAcknowledgementsOff = step('switch acknowledgements off, beside', async (parts) => {
  const { server, jobs, notices, world, changed } = parts
  if (jobs.switchingOff !== null) return
  const until = server
    .killDumpThreads(() => false)
    .then((ids) => server.waitSessionsGone(ids))
    .then(() => world.timers.sleep(acknowledgementsSeenMs))
    .then(() => server.setSemiSyncSource(0))
    .catch((error: unknown) =>
      notices.add('AcknowledgementsSet', `switching acknowledgements off failed: ${describeError(error)}`),
    )
    .finally(() => {
      learn(parts, { fact: 'waitEnded', wait: 'switchingOff' })
      changed()
    })
  learn(parts, { fact: 'waitBegan', wait: 'switchingOff', until })
})

/**
 * Everybody may clone from, or fetch from, a replica: its gates guard nothing, since its semi-sync source is off, and a
 * promotion sets them anew. Done while it is still offline, so for those that are not there yet too: one that is added
 * later is copied from here.
 */
export function openGates({ config }: View, state: ServerState): readonly Step[] {
  const others = instancesOf(config.cluster).filter((instance) => instance !== config.instance)
  if (!state.offlineMode || others.every((instance) => state.openGates.includes(instance))) return []
  return [step('open all gates', (parts) => letAccountsChange(parts, () => parts.server.setGates(others)))]
}

/** @param channel as it is; null where it is to be pointed anew in any case */
export function pointTo(source: Endpoint, channel: Channel | null): Step {
  return step(`point to ${source.instance}`, (parts) => point(parts, source, channel))
}

/** Options that are changed with the receiver stopped are in the statement that names the source. */
export function pointWithOptions(source: Endpoint, channel: Channel | null): Step {
  return step(`point to ${source.instance}, with the options that are due`, (parts) =>
    putOptionsRight(parts, channel, 'receiver', () => point(parts, source, null).then(() => true)),
  )
}

async function point({ server, config, replicationPassword }: Parts, source: Endpoint, channel: Channel | null) {
  const user = replicationUser(config.instance)
  const isAsEncrypted = config.tls === undefined || channel?.encrypted === true
  const isThere = channel?.sourceHost === source.host && channel.sourcePort === source.port
  if (isAsEncrypted && isThere && channel.sourceUser === user) return
  await server.pointTo({ host: source.host, port: source.port, user, password: replicationPassword })
}
