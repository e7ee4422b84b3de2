import { isAlreadyExists, isConflict, isNotFound } from '../controller-runtime/kube-api-error.ts'
import { leases, microTime, type Lease as LeaseObject } from '../controller-runtime/lease.ts'
import type { ObjectKey } from '../controller-runtime/objects.ts'
import type { Clock } from '../common/ports.ts'
import type { Lease } from './cells.ts'
import type { StoreClient } from './kube-cells.ts'
import type { Leadership } from './store.ts'

/** `leaseDurationSeconds` knows whole seconds only, and half of one is a long time here. */
const durationAnnotation = 'regent.dev/lease-milliseconds'

/**
 * Leadership by a `coordination.k8s.io` Lease. It ends when nobody changed it for as long as it lasts, counted on this process's own monotonic clock from when it was first seen so: clocks of other machines prove nothing
 * (as client-go's leader election judges). The fencing token is `leaseTransitions`.
 */
export function kubeLease(client: StoreClient, key: ObjectKey, clock: Clock): Lease {
  let seen: { readonly resourceVersion: string; readonly atMs: number } | undefined
  /** Since when this process holds it, by its last write that was answered. */
  let renewedAtMs = Number.NEGATIVE_INFINITY

  function hasEnded(lease: LeaseObject): boolean {
    const resourceVersion = lease.metadata.resourceVersion ?? ''
    if (seen?.resourceVersion !== resourceVersion) seen = { resourceVersion, atMs: clock.monotonicMs() }
    return clock.monotonicMs() - seen.atMs > durationMsOf(lease)
  }

  async function write(manager: string, ttlMs: number, before: LeaseObject | undefined, signal: AbortSignal): Promise<Leadership | undefined> {
    const begunAtMs = clock.monotonicMs()
    const isRenewal = before?.spec?.holderIdentity === manager && begunAtMs - renewedAtMs <= durationMsOf(before)
    const next = nextLease(before, { manager, ttlMs, isRenewal, now: microTime(clock) })
    try {
      const object = { ...next, metadata: { ...next.metadata, ...key } }
      await (before === undefined ? client.create(leases, object, { signal }) : client.update(leases, object, { signal }))
      // From before it was asked for: the answer may have taken long.
      renewedAtMs = begunAtMs
      return { manager, fencingToken: next.spec.leaseTransitions }
    } catch (error) {
      if (isConflict(error) || isAlreadyExists(error) || isNotFound(error)) return undefined
      throw error
    }
  }

  return {
    async lead(manager, ttlMs, signal) {
      const lease = await client.get(leases, key, { signal })
      const holder = lease?.spec?.holderIdentity ?? ''
      if (lease !== undefined && holder !== '' && holder !== manager && !hasEnded(lease)) return undefined
      return write(manager, ttlMs, lease, signal)
    },

    async resign(manager, signal) {
      const lease = await client.get(leases, key, { signal })
      if (lease?.spec?.holderIdentity !== manager) return
      renewedAtMs = Number.NEGATIVE_INFINITY
      await client.update(leases, { ...lease, spec: { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1 } }, { signal }).catch((error: unknown) => {
        if (!isConflict(error) && !isNotFound(error)) throw error
      })
    },
  }
}

interface Holding {
  readonly manager: string
  readonly ttlMs: number
  readonly isRenewal: boolean
  readonly now: string
}

function nextLease(before: LeaseObject | undefined, { manager, ttlMs, isRenewal, now }: Holding) {
  const { acquireTime = now, leaseTransitions = 0 } = before?.spec ?? {}
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { ...before?.metadata, annotations: { ...before?.metadata.annotations, [durationAnnotation]: String(ttlMs) } },
    spec: {
      holderIdentity: manager,
      leaseDurationSeconds: Math.max(1, Math.ceil(ttlMs / 1_000)),
      acquireTime: isRenewal ? acquireTime : now,
      renewTime: now,
      leaseTransitions: leaseTransitions + (isRenewal ? 0 : 1),
    },
  }
}

function durationMsOf(lease: LeaseObject): number {
  const precise = Number(lease.metadata.annotations?.[durationAnnotation])
  return precise > 0 ? precise : (lease.spec?.leaseDurationSeconds ?? 1) * 1_000
}
