import { isDeepStrictEqual } from 'node:util'
import { renewedChain, type ChainWish } from '#certificates/chain.ts'
import type { Moment } from '#certificates/issue.ts'
import { describeError, RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import type { Logger } from '#common/log/logger.ts'
import type { World } from '#common/ports/ports.ts'
import { HeldCertificates, type CertificateSource } from '#common/tls/tls.ts'
import { isAlreadyExists, isConflict } from '#controller-runtime/client/kube-api-error.ts'
import type { KubeClient, RequestOptions } from '#controller-runtime/client/kube-client.ts'
import type { ObjectKey } from '#controller-runtime/objects/objects.ts'
import { authorityValidMs, leafIn, materialIn } from './cluster-certificates.ts'
import { manager } from '../names/manager-names.ts'
import { labels } from '../names/names.ts'
import { publishAuthority } from './published-authority.ts'
import { dataOf, secrets, textIn, type Secret } from '../secrets/secrets.ts'
import { injectAuthority } from './webhook-authority.ts'

export interface FollowParts {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'update' | 'patch'>
  readonly world: World
  readonly log: Pick<Logger, 'info' | 'warn'>
  /** The managers'. */
  readonly namespace: string
  /** Without a usable certificate for so long after the start, `run` rejects. */
  readonly waitForSecretMs: number
  /**
   * The webhook configurations, mutating and validating, that are told whom to trust; `regent` unless given, none where
   * ''.
   */
  readonly webhookConfiguration?: string
}

export interface FollowedCertificates extends CertificateSource {
  /** Resolves once there is a certificate. */
  ready(signal?: AbortSignal): Promise<void>
  /**
   * Until the signal is aborted. Makes the Secret where it is missing, whoever is first, and takes what is in it, once
   * a minute; only the leader renews it, publishes its authority and tells the webhook configurations. Rejects with
   * `REGENT_BAD_CERTIFICATE` when `waitForSecretMs` pass without one; later it goes on with what it has, and says what
   * is wrong.
   */
  run(signal: AbortSignal, isLeader: () => boolean): Promise<void>
  /** Looks again now: a new leader has the webhook configurations to tell. */
  wake(): void
}

/** How long until it looks again: while there is no certificate, when something is wrong, and when all is well. */
const waitMs = { without: 1_000, troubled: 10_000, well: 60_000 } as const
const requestMs = 5_000

/** The managers' own certificate: one Secret for their API and their webhook, made and renewed by Regent. */
export function followCertificates(parts: FollowParts): FollowedCertificates {
  return new Follower(parts)
}

/** The Secret as it is to be; what may stay stays. */
async function managerSecretOf(namespace: string, existing: Secret | undefined, moment: Moment): Promise<Secret> {
  const found = {
    bundle: textIn(existing, 'ca.crt'),
    key: textIn(existing, 'ca.key'),
    leaves: { manager: leafIn(existing) },
  }
  const { bundle, key, leaves } = await renewedChain(found, wishOf(namespace), moment)
  const base = existing ?? {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/tls',
    metadata: { name: manager.certificateSecret, namespace, labels: { [labels.managedBy]: 'regent' } },
  }
  return {
    ...base,
    data: {
      ...existing?.data,
      ...dataOf({ 'ca.crt': bundle, 'ca.key': key, 'tls.crt': leaves.manager.cert, 'tls.key': leaves.manager.key }),
    },
  }
}

function wishOf(namespace: string): ChainWish<'manager'> {
  const services = [manager.service, manager.webhookService].map((name) => `${name}.${namespace}.svc`)
  const dns = [...services, ...services.map((name) => `${name}.cluster.local`), 'localhost']
  return {
    authorityValidMs,
    leaves: { manager: { dns, ips: ['127.0.0.1'], purposes: ['server'], validMs: 90 * 86_400_000 } },
  }
}

class Follower extends HeldCertificates implements FollowedCertificates {
  readonly #parts: FollowParts
  readonly #key: ObjectKey
  readonly #first = Promise.withResolvers<void>()
  #said = ''
  #sleep = new AbortController()

  constructor(parts: FollowParts) {
    super()
    this.#parts = parts
    this.#key = { namespace: parts.namespace, name: manager.certificateSecret }
  }

  ready(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = () => reject(signal?.reason as Error)
      if (signal?.aborted) abort()
      signal?.addEventListener('abort', abort, { once: true })
      void this.#first.promise.then(resolve).finally(() => signal?.removeEventListener('abort', abort))
    })
  }

  async run(signal: AbortSignal, isLeader: () => boolean): Promise<void> {
    const { clock, timers } = this.#parts.world
    const deadlineMs = clock.monotonicMs() + this.#parts.waitForSecretMs
    while (!signal.aborted) {
      const trouble = await this.#look(isLeader, signal)
      if (signal.aborted) return
      const has = this.current() !== undefined
      if (!has && clock.monotonicMs() >= deadlineMs)
        throw new RegentError(
          'REGENT_BAD_CERTIFICATE',
          say`no certificate for the API and the webhook after ${this.#parts.waitForSecretMs / 1_000} s: ${reported(trouble)}`,
        )
      this.#sleep = new AbortController()
      await timers
        .sleep(
          !has ? waitMs.without : trouble === '' ? waitMs.well : waitMs.troubled,
          AbortSignal.any([signal, this.#sleep.signal]),
        )
        .catch(() => undefined)
    }
  }

  wake(): void {
    this.#sleep.abort(new Error('woken'))
  }

  /** @returns what is wrong; '' when nothing is. */
  async #look(isLeader: () => boolean, signal: AbortSignal): Promise<string> {
    try {
      await this.#follow(isLeader, signal)
      this.#said = ''
    } catch (error) {
      const trouble = describeError(error)
      if (trouble !== this.#said && !signal.aborted) this.#parts.log.warn(`certificates: ${trouble}`)
      this.#said = trouble
    }
    return this.#said
  }

  async #follow(isLeader: () => boolean, signal: AbortSignal): Promise<void> {
    const { client, log, namespace, webhookConfiguration = manager.webhookConfiguration } = this.#parts
    const where = `Secret ${namespace}/${manager.certificateSecret}`
    const found = await client.get(secrets, this.#key, this.#within(signal))
    const secret =
      found === undefined ? await this.#make(signal) : isLeader() ? await this.#renew(found, signal) : found
    const material = materialIn(secret)
    if (material === undefined)
      throw new RegentError('REGENT_BAD_CERTIFICATE', say`${where} lacks tls.crt, tls.key or ca.crt`)
    if (this.put(material, where)) log.info(`certificates: ${where} is in use`)
    this.#first.resolve()
    if (!isLeader()) return
    const { ca } = material
    const within = this.#within(signal)
    await Promise.all([
      publishAuthority(client, { namespace, ca }, within),
      webhookConfiguration === '' || injectAuthority(client, { name: webhookConfiguration, ca }, within),
    ])
  }

  async #make(signal: AbortSignal): Promise<Secret | undefined> {
    const { client, namespace } = this.#parts
    try {
      return await client.create(
        secrets,
        await managerSecretOf(namespace, undefined, this.#moment()),
        this.#within(signal),
      )
    } catch (error) {
      if (isAlreadyExists(error)) return client.get(secrets, this.#key, this.#within(signal))
      throw error
    }
  }

  async #renew(found: Secret, signal: AbortSignal): Promise<Secret | undefined> {
    const { client, namespace } = this.#parts
    const wanted = await managerSecretOf(namespace, found, this.#moment())
    if (isDeepStrictEqual(wanted.data, found.data)) return found
    try {
      return await client.update(secrets, wanted, this.#within(signal))
    } catch (error) {
      if (isConflict(error)) return client.get(secrets, this.#key, this.#within(signal))
      throw error
    }
  }

  #within(signal: AbortSignal): RequestOptions {
    return { signal, deadlineMs: requestMs }
  }

  #moment(): Moment {
    const { clock, random } = this.#parts.world
    return { wallMs: clock.wallMs(), random }
  }
}
