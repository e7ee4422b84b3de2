import { X509Certificate } from 'node:crypto'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { certificatesIn, isSignedBy } from '#certificates/certificate.ts'
import { ScriptedClient } from '#controller-runtime/testing-kube-client.ts'
import { virtualWorld } from '#common/ports/testing-world.ts'
import { materialIn } from './cluster-certificates.ts'
import { followCertificates, type FollowedCertificates } from './manager-certificates.ts'
import { configMaps } from '#controller-runtime/objects/config-map.ts'
import { dataOf, secrets, textIn, type Secret } from '../secrets/secrets.ts'

const dayMs = 86_400_000
const key = { namespace: 'regent', name: 'regent-certificates' }

function aManager(shared?: { client: ScriptedClient; world: ReturnType<typeof virtualWorld> }, leads = true) {
  const { client, world } = shared ?? { client: new ScriptedClient(), world: virtualWorld() }
  const log = { info: vi.fn(), warn: vi.fn() }
  const follower = followCertificates({ client, world, log, namespace: 'regent', waitForSecretMs: 30_000 })
  const ending = new AbortController()
  let isLeader = leads
  const run = follower.run(ending.signal, () => isLeader)
  run.catch(() => undefined)
  onTestFinished(() => ending.abort(new Error('over')))
  return {
    client,
    world,
    log,
    follower,
    run,
    stop: () => ending.abort(new Error('told')),
    lead: () => void (isLeader = true),
  }
}

const stored = async (client: ScriptedClient) => (await client.get(secrets, key)) as Secret
const authorities = (follower: FollowedCertificates) => certificatesIn(follower.current()?.ca)
const leaf = (follower: FollowedCertificates) => new X509Certificate(follower.current()?.cert ?? '')

/** Time passes until something is so: keys are made by OpenSSL's threads, in time of their own. */
async function passUntil(world: ReturnType<typeof virtualWorld>, so: () => unknown, stepMs = 1_000): Promise<void> {
  await vi.waitUntil(async () => (await world.advance(stepMs), so()), { timeout: 60_000, interval: 2 })
}

describe('the managers’ certificate', () => {
  it('is made where there is none, for both Services, and signed by an authority that is kept beside it', async () => {
    const { client, follower } = aManager()
    await follower.ready()
    expect(leaf(follower).subjectAltName?.split(', ')).toEqual(
      [
        'regent.regent.svc',
        'regent-webhook.regent.svc',
        'regent.regent.svc.cluster.local',
        'regent-webhook.regent.svc.cluster.local',
        'localhost',
      ]
        .map((name) => `DNS:${name}`)
        .concat('IP Address:127.0.0.1'),
    )
    expect(isSignedBy(leaf(follower), authorities(follower)[0])).toBe(true)
    expect(await stored(client)).toMatchObject({
      type: 'kubernetes.io/tls',
      data: { 'ca.key': expect.any(String) as string },
    })
  })

  it('is the same for two managers who both begin with none', async () => {
    const first = aManager(undefined, false)
    const second = aManager(first, false)
    await Promise.all([first.follower.ready(), second.follower.ready()])
    expect(first.follower.current()).toEqual(second.follower.current())
    expect(first.client.calls.filter((verb) => verb === 'create')).toHaveLength(2)
  })

  it('is renewed by the leader, and taken by the others without a restart', async () => {
    const first = aManager(undefined, false)
    await first.follower.ready()
    const taken = vi.fn()
    first.follower.onChange(taken)
    const before = first.follower.current()
    const leader = aManager({ client: first.client, world: virtualWorld(first.world.clock.wallMs() + 61 * dayMs) })
    await leader.follower.ready()
    await passUntil(first.world, () => taken.mock.calls.length > 0)
    expect(first.follower.current()).toEqual(leader.follower.current())
    expect(first.follower.current()?.ca).toBe(before?.ca)
    expect(first.follower.current()?.cert).not.toBe(before?.cert)
  })

  it('is repaired by the leader only, and until then the old one serves on', async () => {
    const { client, world, follower, log, lead } = aManager(undefined, false)
    await follower.ready()
    const good = follower.current()
    const secret = await stored(client)
    await client.update(secrets, { ...secret, data: { ...secret.data, ...dataOf({ 'tls.key': 'no key' }) } })
    await passUntil(world, () => log.warn.mock.calls.length > 0)
    expect(log.warn.mock.calls).toEqual([
      [expect.stringContaining('Secret regent/regent-certificates: tls.crt or tls.key cannot be read')],
    ])
    expect(follower.current()).toEqual(good)
    lead()
    await passUntil(world, () => follower.current() !== good)
    expect(materialIn(await stored(client))).toEqual(follower.current())
  })

  it('is waited for no longer than agreed, and what is wrong is said', async () => {
    const client = new ScriptedClient()
    client.before = () => {
      throw new Error('secrets is forbidden')
    }
    const { world, run } = aManager({ client, world: virtualWorld() })
    await world.advance(31_000)
    await expect(run).rejects.toMatchObject({
      code: 'REGENT_BAD_CERTIFICATE',
      message: 'no certificate for the API and the webhook after 30 s: secrets is forbidden',
    })
  })

  it('is no longer looked after once the manager is told to stop', async () => {
    const { follower, run, stop, world } = aManager()
    await follower.ready()
    stop()
    await run
    expect(world.pending).toBe(0)
  })
})

describe('the authority behind it', () => {
  const place = { namespace: 'regent', name: 'regent-ca' }
  const published = (client: ScriptedClient) => client.get(configMaps, place)

  it('is published without its key by the leader, who puts it right where somebody changed or deleted it', async () => {
    const { client, world, follower } = aManager()
    await follower.ready()
    const wanted = { 'ca.crt': follower.current()?.ca }
    await vi.waitFor(async () => expect((await published(client))?.data).toEqual(wanted))
    await client.patch(configMaps, place, { data: { 'ca.crt': 'another' } })
    await world.advance(61_000)
    await vi.waitFor(async () => expect((await published(client))?.data).toEqual(wanted))
    await client.delete(configMaps, place)
    await world.advance(61_000)
    await vi.waitFor(async () => expect((await published(client))?.data).toEqual(wanted))
  })

  it('is not published by a follower', async () => {
    const { client, world, follower } = aManager(undefined, false)
    await follower.ready()
    await world.advance(120_000)
    expect(await published(client)).toBeUndefined()
  })

  it('is published beside the one that replaces it, for as long as the managers may show a certificate of either', async () => {
    const first = aManager()
    await first.follower.ready()
    const before = first.follower.current()?.ca ?? ''
    await vi.waitFor(async () => expect((await published(first.client))?.data?.['ca.crt']).toBe(before))
    first.stop()
    const leader = aManager({ client: first.client, world: virtualWorld(first.world.clock.wallMs() + 3_000 * dayMs) })
    await leader.follower.ready()
    await vi.waitFor(async () => expect((await published(leader.client))?.data?.['ca.crt']).not.toBe(before))
    const both = (await published(leader.client))?.data?.['ca.crt'] ?? ''
    expect(both).toBe(textIn(await stored(leader.client), 'ca.crt'))
    expect(certificatesIn(both)).toHaveLength(2)
    expect(both.endsWith(before)).toBe(true)
    await passUntil(
      leader.world,
      () => authorities(leader.follower).length === 1 && !leader.follower.current()?.ca.includes(before),
      60_000,
    )
    await vi.waitFor(async () =>
      expect((await published(leader.client))?.data?.['ca.crt']).toBe(leader.follower.current()?.ca),
    )
  })

  it('keeps nobody waiting who serves where it cannot be published, and that is said', async () => {
    const client = new ScriptedClient()
    client.before = (verb) => {
      if (verb === 'create' && client.calls.filter((one) => one === 'create').length > 1)
        throw new Error('configmaps is forbidden')
    }
    const { follower, log } = aManager({ client, world: virtualWorld() })
    await follower.ready()
    expect(follower.current()).toBeDefined()
    await vi.waitFor(() => expect(log.warn.mock.calls).toEqual([['certificates: configmaps is forbidden']]))
  })
})

describe('the webhook configurations', () => {
  const validating = {
    group: 'admissionregistration.k8s.io',
    version: 'v1',
    kind: 'ValidatingWebhookConfiguration',
    plural: 'validatingwebhookconfigurations',
    namespaced: false,
  }
  const configuration = (...webhooks: object[]) => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: validating.kind,
    metadata: { name: 'regent' },
    webhooks,
  })
  const ours = { name: 'validate.regent.dev', clientConfig: { service: { name: 'regent-webhook' } } }

  it('are told whom to trust by the leader, also after somebody took it away', async () => {
    const client = new ScriptedClient()
    await client.create(
      validating,
      configuration({ name: 'other', clientConfig: { service: { name: 'other' } } }, ours),
    )
    const { follower, world } = aManager({ client, world: virtualWorld() })
    await follower.ready()
    const bundles = async () =>
      (
        (await client.get(validating, { namespace: '', name: 'regent' })) as unknown as ReturnType<typeof configuration>
      ).webhooks.map((one) => (one as typeof ours & { clientConfig: { caBundle?: string } }).clientConfig.caBundle)
    const wanted = [undefined, Buffer.from(follower.current()?.ca ?? '').toString('base64')]
    await vi.waitFor(async () => expect(await bundles()).toEqual(wanted))
    const current = await client.get(validating, { namespace: '', name: 'regent' })
    await client.update(validating, {
      ...configuration({ name: 'other', clientConfig: { service: { name: 'other' } } }, ours),
      metadata: { ...current?.metadata, name: 'regent' },
    })
    await world.advance(61_000)
    await vi.waitFor(async () => expect(await bundles()).toEqual(wanted))
  })

  it('are left alone by a follower, and need not exist', async () => {
    const client = new ScriptedClient()
    await client.create(validating, configuration(ours))
    const { follower, world, log } = aManager({ client, world: virtualWorld() }, false)
    await follower.ready()
    await world.advance(120_000)
    expect(client.calls).not.toContain('patch')
    expect(log.warn).not.toHaveBeenCalled()
  })
})
