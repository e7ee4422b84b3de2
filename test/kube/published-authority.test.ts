import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { findManagers } from '#cli/connection/find-managers.ts'
import { realWorld } from '#common/ports/real-world.ts'
import type { Resource } from '#controller-runtime/objects/objects.ts'
import { configMaps } from '#controller-runtime/objects/config-map.ts'
import { followCertificates } from '#kube/certificates/manager-certificates.ts'
import { manager } from '#kube/names/manager-names.ts'
import { dataOf, secrets, textIn } from '#kube/secrets/secrets.ts'
import { clientWith, userOf } from './clients.ts'
import { only, render } from './helm.ts'
import { onApiServer } from './on-api-server.ts'

const rbac = (kind: 'Role' | 'RoleBinding'): Resource => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind,
  plural: `${kind.toLowerCase()}s`,
  namespaced: true,
})

onApiServer('The authority of the managers', (api) => {
  const place = () => ({ namespace: api.namespace, name: 'regent-ca' })

  /** As a user who may do this in the namespace of the test and nothing else. */
  async function userWith(user: string, rules: unknown) {
    const metadata = { name: user, namespace: api.namespace }
    const make = (kind: 'Role' | 'RoleBinding', content: object) =>
      api.client.create(rbac(kind), { apiVersion: 'rbac.authorization.k8s.io/v1', kind, metadata, ...content })
    await make('Role', { rules })
    await make('RoleBinding', {
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: user },
      subjects: [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }],
    })
    const connection = userOf(api.access, user)
    const client = clientWith(connection)
    onTestFinished(() => client.close())
    // The API server hears of new roles by a watch of its own.
    await vi.waitFor(() => client.get(configMaps, place()), { timeout: 10_000 })
    return { connection, client }
  }

  const published = () => api.client.get(configMaps, place())

  it.skipIf(!inject('helm'))(
    'is published and put right with the rights that the chart gives in the managers’ namespace',
    async () => {
      const role = only(
        await render('regent', { watchNamespaces: ['shops'] }, { namespace: api.namespace }),
        'Role',
        'regent',
      )
      const { client } = await userWith('manager', role['rules'])
      const log = { info: vi.fn(), warn: vi.fn() }
      const follower = followCertificates({
        client,
        world: realWorld,
        log,
        namespace: api.namespace,
        waitForSecretMs: 30_000,
        webhookConfiguration: '',
      })
      const over = new AbortController()
      const run = follower.run(over.signal, () => true)
      onTestFinished(() => (over.abort(new Error('over')), run))
      await follower.ready()
      const wanted = {
        'ca.crt': textIn(
          await api.client.get(secrets, { namespace: api.namespace, name: manager.certificateSecret }),
          'ca.crt',
        ),
      }
      await vi.waitFor(async () => expect((await published())?.data).toEqual(wanted))
      await api.client.patch(configMaps, place(), { data: { 'ca.crt': 'another' } })
      follower.wake()
      await vi.waitFor(async () => expect((await published())?.data).toEqual(wanted))
      expect(log.warn).not.toHaveBeenCalled()
    },
  )

  it('is found by a command that may not read its key', async () => {
    const make = (name: string, texts: Readonly<Record<string, string>>) =>
      api.client.create(secrets, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name, namespace: api.namespace },
        data: dataOf(texts),
      })
    await make(manager.tokenSecret, { token: 'api-token' })
    await make(manager.certificateSecret, { 'ca.crt': 'public', 'ca.key': 'private' })
    const { connection, client } = await userWith('person', [
      { apiGroups: [''], resources: ['secrets'], resourceNames: ['regent-api'], verbs: ['get'] },
      { apiGroups: [''], resources: ['configmaps'], resourceNames: ['regent-ca'], verbs: ['get'] },
      { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
    ])
    await expect(
      client.get(secrets, { namespace: api.namespace, name: manager.certificateSecret }),
    ).rejects.toMatchObject({ status: 403 })
    await expect(findManagers(connection, api.namespace)).rejects.toMatchObject({
      message: expect.stringContaining('there is no ConfigMap "regent-ca"') as string,
    })
    await api.client.create(configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: place(),
      data: { 'ca.crt': 'public' },
    })
    // What it looks for last: everything else was found.
    await expect(findManagers(connection, api.namespace)).rejects.toMatchObject({
      message: expect.stringContaining('there is no manager pod') as string,
    })
  })
})
