import type { Clock, Timers } from '#common/ports/ports.ts'
import { Watches } from '#common/watch/watches.ts'
import { listInPages } from '#controller-runtime/client/list-pages.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import type { KubeObject, Resource } from '#controller-runtime/objects/objects.ts'
import { namesOf } from '../names/names.ts'
import { said } from '../pods/pod-state.ts'
import { claimOf } from '../pods/stateful-set.ts'

/** What Kubernetes warned of lately, for the pods that are not as they should be. */
export interface PodWarnings {
  /** The newest about the instance's pod, its claim, or the set that makes the pod; '' for none, or none known yet. */
  of(instance: string): string
  /** Asks from now on about those that `amiss` names at that moment; calls back when an answer changes. */
  follow(amiss: () => readonly string[], changed: () => void): void
  close(): void
}

/** An Event of core/v1: the other API group cannot be asked for a type. */
interface Warning extends KubeObject {
  readonly reason?: string
  readonly message?: string
  readonly lastTimestamp?: string | null
  readonly eventTime?: string | null
}

const events: Resource<Warning> = { group: '', version: 'v1', kind: 'Event', plural: 'events', namespaced: true }

/** Kubernetes repeats what goes on at least every five minutes. */
const lately = 330_000
/** Slow enough to take no time of the API server's from a failover. */
const againMs = 10_000
const pageSize = 50

interface PodWarningsParts {
  readonly client: Pick<KubeClient, 'list'>
  readonly world: { readonly clock: Clock; readonly timers: Timers }
  readonly cluster: { readonly namespace: string; readonly name: string }
}

/** Asks every 10 s while something is amiss, and never else. Without the right to read Events nothing is known. */
export function podWarnings({ client, world, cluster }: PodWarningsParts): PodWarnings {
  const known = new Map<string, string>()
  const stop = new AbortController()
  const watches = new Watches(world, () => undefined)

  /** Whether an answer is another than before. */
  async function ask(instances: readonly string[]): Promise<boolean> {
    let isNews = false
    for (const instance of known.keys()) if (!instances.includes(instance)) isNews = known.delete(instance) || isNews
    for (const instance of instances) {
      const text = await newest(instance).catch(() => '')
      isNews ||= text !== (known.get(instance) ?? '')
      known.set(instance, text)
    }
    return isNews
  }

  async function look(instances: readonly string[], changed: () => void): Promise<void> {
    if ((await ask(instances)) && !stop.signal.aborted) changed()
  }

  async function newest(instance: string): Promise<string> {
    const about = {
      Pod: instance,
      PersistentVolumeClaim: claimOf(instance),
      StatefulSet: namesOf(cluster.name).statefulSet,
    }
    const found: Warning[] = []
    for (const [kind, name] of Object.entries(about))
      found.push(
        ...(await warningsOf(kind, name)).filter((warning) => kind !== 'StatefulSet' || speaksOf(warning, instance)),
      )
    const last = found.reduce<Warning | undefined>(
      (best, one) => (momentOf(one) > momentOf(best) ? one : best),
      undefined,
    )
    return last === undefined ? '' : `Kubernetes warns: ${said(last.reason, last.message)}`
  }

  async function warningsOf(kind: string, name: string): Promise<readonly Warning[]> {
    const fieldSelector = `type=Warning,involvedObject.kind=${kind},involvedObject.name=${name}`
    const { namespace } = cluster
    const sinceMs = world.clock.wallMs() - lately
    const keep = (warning: Warning) => (momentOf(warning) >= sinceMs && !isNoise(warning) ? kept(warning) : undefined)
    const options = { namespace, fieldSelector, keep, pageSize, signal: stop.signal }
    return (await listInPages(client, events, options)).objects
  }

  return {
    of: (instance) => known.get(instance) ?? '',
    follow(amiss, changed) {
      watches.every(againMs, [{ name: 'Warnings of Kubernetes', look: () => look(amiss(), changed) }])
    },
    close() {
      watches.stop()
      stop.abort(new Error('the cluster is not looked after any more'))
    },
  }
}

function kept({
  apiVersion,
  kind,
  metadata: { name, namespace },
  reason,
  message,
  lastTimestamp,
  eventTime,
}: Warning): Warning {
  const metadata = { name, ...(namespace !== undefined && { namespace }) }
  const texts = { reason: (reason ?? '').slice(0, 128), message: (message ?? '').slice(0, 1_024) }
  return { apiVersion, kind, metadata, ...texts, lastTimestamp: lastTimestamp ?? null, eventTime: eventTime ?? null }
}

/** A set makes several pods, and says which one it could not make. */
function speaksOf({ message = '' }: Warning, instance: string): boolean {
  return new RegExp(`(?<![\\w.-])${instance.replaceAll('.', '\\.')}(?![\\w-])`).test(message)
}

/** A pod that is not ready yet: what its agent says of itself says more. */
function isNoise({ reason, message = '' }: Warning): boolean {
  return reason === 'Unhealthy' && /^(Readiness|Startup) probe failed/.test(message)
}

function momentOf(warning: Warning | undefined): number {
  const ms = Date.parse(warning?.lastTimestamp ?? warning?.eventTime ?? warning?.metadata.creationTimestamp ?? '')
  return Number.isNaN(ms) ? 0 : ms
}
