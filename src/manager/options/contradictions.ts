import { contradictionInDurations } from '#controller-runtime/leader/lease-elector.ts'
import { parseListenAddress, type ListenAddress } from './listen-address.ts'
import type { KubernetesManagerOptions } from './schema.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'

/** Where a value was said: a flag, a variable, a line of the file, or `default`. */
export type WhereSaid = (key: string) => string

/** A sentence about the first two options that cannot both be meant; undefined where all fit together. */
export function contradictionIn(options: KubernetesManagerOptions, where: WhereSaid): Sentence | undefined {
  return leaderElection(options, where) ?? webhooks(options, where) ?? listeners(options, where)
}

function leaderElection({ leaderElection }: KubernetesManagerOptions, where: WhereSaid): Sentence | undefined {
  const { leaseSeconds, renewDeadlineSeconds, retrySeconds } = leaderElection
  const contradiction = contradictionInDurations({
    leaseMs: leaseSeconds * 1_000,
    renewDeadlineMs: renewDeadlineSeconds * 1_000,
    retryMs: retrySeconds * 1_000,
  })
  const said = ['leaseSeconds', 'renewDeadlineSeconds', 'retrySeconds'].map(
    (name) => `${name} (${where(`leaderElection.${name}`)})`,
  )
  return contradiction && say`leaderElection: ${contradiction}; change ${said.join(', ')}`
}

function webhooks({ webhook, reconcile }: KubernetesManagerOptions, where: WhereSaid): Sentence | undefined {
  const disabled = reconcile.disabledCapabilities.includes('webhooks')
  if (disabled && webhook.enabled)
    return say`reconcile.disabledCapabilities (${where('reconcile.disabledCapabilities')}) has webhooks, and webhook.enabled (${where('webhook.enabled')}) is true`
  if (webhook.enabled || webhook.certificateFolder === undefined) return undefined
  const off = disabled
    ? `reconcile.disabledCapabilities (${where('reconcile.disabledCapabilities')}) has webhooks`
    : `webhook.enabled (${where('webhook.enabled')}) is false`
  return say`webhook.certificateFolder (${where('webhook.certificateFolder')}) is ${webhook.certificateFolder}, but ${off}: nothing would use the certificate`
}

function listeners(options: KubernetesManagerOptions, where: WhereSaid): Sentence | undefined {
  const { api, orchestrator, metrics, health, webhook, profiling } = options
  const profilingAddress = parseListenAddress(profiling.address ?? '')
  const all: (readonly [string, ListenAddress])[] = [
    ['api.port', api],
    ['metrics.port', metrics],
    ['health.port', health],
    ...(orchestrator.enabled ? [['orchestrator.port', orchestrator] as const] : []),
    ...(webhook.enabled ? [['webhook.port', webhook] as const] : []),
    ...(profilingAddress ? [['profiling.address', profilingAddress] as const] : []),
  ]
  for (const [at, [key, one]] of all.entries()) {
    const twin = all.slice(at + 1).find(([, other]) => collide(one, other))
    if (twin) return say`${key} (${where(key)}) and ${twin[0]} (${where(twin[0])}) both take port ${one.port}`
  }
  return undefined
}

function collide(one: ListenAddress, other: ListenAddress): boolean {
  const everywhere = [one.host, other.host].some((host) => host === '0.0.0.0' || host === '::')
  return one.port === other.port && (everywhere || one.host === other.host)
}
