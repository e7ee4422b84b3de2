import { pino } from 'pino'
import { codeOf } from '#common/errors/errors.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { leaderClient, type Leadership } from '#controller-runtime/leader/leadership.ts'
import { LeaseElector, type LeaseDurations } from '#controller-runtime/leader/lease-elector.ts'
import { configMaps } from '#controller-runtime/objects/config-map.ts'
import type { ApiServerAccess } from './api-server.ts'
import { adminOf, clientWith } from './clients.ts'

/** What `lease-elector.test.ts` sends to this process first. */
export interface CandidateOrders {
  readonly access: ApiServerAccess
  readonly namespace: string
  readonly identity: string
  readonly durations: Pick<LeaseDurations, 'leaseMs' | 'renewDeadlineMs'>
}

/**
 * Competes for a lease until SIGTERM or a lost term, and says `leads`, then `lost` or `stopped`. While it leads, and
 * for as long as it believes so, it writes its name into a ConfigMap.
 */
async function compete({ access, namespace, identity, durations }: CandidateOrders): Promise<void> {
  const client = clientWith(adminOf(access), { throttle: { qps: 0, burst: 0 } })
  const stop = new AbortController()
  process.once('SIGTERM', () => stop.abort())
  const elector = new LeaseElector({
    client,
    lease: { namespace, name: 'manager' },
    identity,
    world: realWorld,
    logger: pino({ level: 'silent' }),
    durations: { ...durations, retryMs: 300 },
  })

  async function lead(leadership: Leadership): Promise<void> {
    process.send?.('leads')
    const writer = leaderClient(client, leadership)
    while (!stop.signal.aborted && !leadership.lost.aborted) {
      // Nothing but the client keeps this from writing: as a controller that knows nothing of leadership.
      await writer
        .patch(
          configMaps,
          { namespace, name: 'leader' },
          { data: { by: identity, at: String(realWorld.clock.monotonicMs()) } },
        )
        .catch((error: unknown) => {
          if (codeOf(error) !== 'REGENT_NOT_LEADER') throw error
        })
    }
  }

  process.send?.(await elector.run(stop.signal, lead))
  await client.close()
  process.disconnect()
}

process.once('message', (orders) => void compete(orders as CandidateOrders))
