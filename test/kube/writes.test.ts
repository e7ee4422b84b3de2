import { expect, it } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { changeObject } from '#controller-runtime/changes/conflict-retry.ts'
import { addFinalizer, removeFinalizer, withFinalizer } from '#controller-runtime/changes/finalizers.ts'
import { isConflict, isNotFound } from '#controller-runtime/client/kube-api-error.ts'
import { isControlledBy, withController } from '#controller-runtime/objects/owner-references.ts'
import { applyObject } from '#controller-runtime/changes/server-side-apply.ts'
import { configMaps, type ConfigMap } from '#controller-runtime/objects/config-map.ts'
import { onApiServer } from './on-api-server.ts'

const finalizer = 'example.org/clean-up'

onApiServer('Server-side apply', (api) => {
  const key = () => ({ namespace: api.namespace, name: 'shop' })
  const intent = (data: Readonly<Record<string, string>>): ConfigMap => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { ...key(), labels: { ours: 'yes' } },
    data,
  })
  const apply = (data: Readonly<Record<string, string>>, as: { readonly by?: string; readonly force?: boolean } = {}) =>
    applyObject(api.client, configMaps, intent(data), {
      fieldManager: as.by ?? 'regent',
      ...(as.force === undefined ? {} : { force: as.force }),
    })

  it('makes what is not there, and writes nothing where it is so already', async () => {
    const made = await apply({ a: '1' })
    const again = await apply({ a: '1' })
    expect(again.metadata.resourceVersion).toBe(made.metadata.resourceVersion)
  })

  it('removes what is no longer meant, and leaves what others set', async () => {
    await apply({ a: '1', b: '1' })
    await api.client.patch(
      configMaps,
      key(),
      { data: { c: '1' }, metadata: { labels: { team: 'payments' } } },
      { fieldManager: 'somebody' },
    )
    const { data, metadata } = await apply({ a: '2' })
    expect(data).toEqual({ a: '2', c: '1' })
    expect(metadata.labels).toEqual({ ours: 'yes', team: 'payments' })
  })

  it('takes over what another manager set, unless told not to: then it is a conflict that names him', async () => {
    await apply({ a: '1' }, { by: 'kubectl' })
    const refused = await apply({ a: '2' }, { force: false }).catch((error: unknown) => error)
    expect(refused).toMatchObject({
      status: 409,
      message: expect.stringContaining('conflict with "kubectl": .data.a') as string,
    })
    expect(isConflict(refused)).toBe(true)
    expect((await apply({ a: '2' })).data).toEqual({ a: '2' })
  })

  it('takes an intent that was made from an old copy of the object', async () => {
    const old = await apply({ a: '1' })
    await apply({ a: '2' })
    const changed: ConfigMap = { ...old, data: { a: '3' } }
    expect((await applyObject(api.client, configMaps, changed, { fieldManager: 'regent' })).data).toEqual({ a: '3' })
  })

  it('of an intent with a uid makes no second object of that name', async () => {
    const { metadata } = await apply({ a: '1' })
    await api.client.delete(configMaps, key())
    const late: ConfigMap = {
      ...intent({ a: '2' }),
      metadata: { ...key(), ...(metadata.uid === undefined ? {} : { uid: metadata.uid }) },
    }
    expect(
      isConflict(
        await applyObject(api.client, configMaps, late, { fieldManager: 'regent' }).catch((error: unknown) => error),
      ),
    ).toBe(true)
    expect(await api.client.get(configMaps, key())).toBeUndefined()
  })
})

onApiServer('A write', (api) => {
  const key = () => ({ namespace: api.namespace, name: 'shop' })
  const create = (data: Readonly<Record<string, string>> = {}) =>
    api.client.create<ConfigMap>(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: key(), data })

  it('with an old version is a conflict; done by reading again, none of several is lost', async () => {
    const old = await create({ count: '0' })
    const parts = { client: api.client, world: realWorld }
    const add = (current: ConfigMap): ConfigMap => ({
      ...current,
      data: { count: String(Number(current.data?.['count']) + 1) },
    })
    await Promise.all([1, 2, 3, 4, 5].map(() => changeObject(parts, { resource: configMaps, key: key(), change: add })))
    expect((await api.client.get(configMaps, key()))?.data).toEqual({ count: '5' })
    expect(isConflict(await api.client.update(configMaps, add(old)).catch((error: unknown) => error))).toBe(true)
  })

  it('by a patch that tests first happens only where the test holds', async () => {
    await create({ owner: 'a' })
    const take = (from: string, to: string) =>
      api.client.patch(configMaps, key(), [
        { op: 'test', path: '/data/owner', value: from },
        { op: 'replace', path: '/data/owner', value: to },
      ])
    await take('a', 'b')
    await expect(take('a', 'c')).rejects.toMatchObject({ status: 422, reason: 'Invalid' })
    expect((await api.client.get(configMaps, key()))?.data).toEqual({ owner: 'b' })
  })

  it('that makes what is there already, deletes what is gone, or deletes another of that name, is told so', async () => {
    const { metadata } = await create()
    await expect(create()).rejects.toMatchObject({ status: 409, reason: 'AlreadyExists' })
    await api.client.delete(configMaps, key(), { uid: metadata.uid ?? '' })
    expect(isNotFound(await api.client.delete(configMaps, key()).catch((error: unknown) => error))).toBe(true)
    await create()
    expect(
      isConflict(
        await api.client.delete(configMaps, key(), { uid: metadata.uid ?? '' }).catch((error: unknown) => error),
      ),
    ).toBe(true)
    expect(await api.client.get(configMaps, key())).toBeDefined()
  })
})

onApiServer('A finalizer', (api) => {
  it('keeps an object that is deleted until it is taken away, and cannot be added any more by then', async () => {
    const key = { namespace: api.namespace, name: 'shop' }
    const target = { resource: configMaps, key }
    const parts = { client: api.client, world: realWorld }
    await api.client.create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: key })
    const kept = await addFinalizer(parts, target, finalizer)
    expect((await addFinalizer(parts, target, finalizer))?.metadata.resourceVersion).toBe(
      kept?.metadata.resourceVersion,
    )
    await api.client.delete(configMaps, key)
    const dying = await api.client.get(configMaps, key)
    expect(dying?.metadata).toMatchObject({ finalizers: [finalizer], deletionTimestamp: expect.any(String) as string })
    await expect(addFinalizer(parts, target, 'example.org/late')).rejects.toMatchObject({ code: 'REGENT_REFUSED' })
    // The API server says the same to who does not ask `withFinalizer`.
    await expect(
      api.client.patch(configMaps, key, { metadata: { finalizers: [finalizer, 'example.org/late'] } }),
    ).rejects.toMatchObject({ status: 422 })
    await removeFinalizer(parts, target, finalizer)
    expect(await api.client.get(configMaps, key)).toBeUndefined()
    expect(await removeFinalizer(parts, target, finalizer)).toBeUndefined()
    expect(() => withFinalizer(dying ?? expect.fail('not there'), 'example.org/late')).toThrow('is being deleted')
  })
})

onApiServer('An owner', (api) => {
  it('is written as the one controller of what it owns; a second is refused', async () => {
    const named = (name: string): ConfigMap => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: api.namespace },
    })
    const [owner, other] = [
      await api.client.create(configMaps, named('owner')),
      await api.client.create(configMaps, named('other')),
    ]
    const owned = await api.client.create(configMaps, withController(named('owned'), owner))
    expect(owned.metadata.ownerReferences).toEqual([
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        name: 'owner',
        uid: owner.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ])
    expect([isControlledBy(owned, owner), isControlledBy(owned, other)]).toEqual([true, false])
    expect(() => withController(owned, other)).toThrow('is controlled by ConfigMap owner')
    const two = [
      ...(owned.metadata.ownerReferences ?? []),
      ...(withController(named('owned'), other).metadata.ownerReferences ?? []),
    ]
    await expect(
      api.client.update(configMaps, { ...owned, metadata: { ...owned.metadata, ownerReferences: two } }),
    ).rejects.toMatchObject({
      status: 422,
      message: expect.stringContaining('Only one reference can have Controller set to true') as string,
    })
  })
})
