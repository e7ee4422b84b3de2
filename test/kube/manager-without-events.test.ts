import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { stringify } from 'yaml'
import type { Resource } from '#controller-runtime/objects/objects.ts'
import { manager as names } from '#kube/names/manager-names.ts'
import { serviceAccounts } from '#kube/objects/service-account.ts'
import { statefulSets } from '#kube/pods/stateful-set.ts'
import { mysqlClusters } from '#kube/spec/mysql-cluster.ts'
import type { ApiServerAccess } from './api-server.ts'
import { tokenOf, type Client } from './clients.ts'
import { describeCharts, ofKind, only, render } from './helm.ts'
import { ManagerProcess, prepareForManager } from './manager-process.ts'
import { onOwnApiServer } from './on-api-server.ts'
import { manifest, smallest } from './smallest-cluster.ts'

const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' }
const kinds: readonly Resource[] = [
  { ...rbac, kind: 'ClusterRole', plural: 'clusterroles', namespaced: false },
  { ...rbac, kind: 'ClusterRoleBinding', plural: 'clusterrolebindings', namespaced: false },
  { ...rbac, kind: 'Role', plural: 'roles', namespaced: true },
  { ...rbac, kind: 'RoleBinding', plural: 'rolebindings', namespaced: true },
]

/** A kubeconfig of the chart's account, with the rights that a chart gives which knows nothing of agents' Events. */
async function accountWithout(client: Client, access: ApiServerAccess, folder: string): Promise<string> {
  const { server, ca } = access
  const objects = await render('regent', { manager: { reconcile: { disabledCapabilities: ['podEvents'] } } })
  const { name } = only(objects, 'ServiceAccount').metadata
  const { namespace } = names
  await client.create(serviceAccounts, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name, namespace },
    automountServiceAccountToken: false,
  })
  for (const kind of kinds) for (const object of ofKind(objects, kind.kind)) await client.create(kind, object)
  const token = await tokenOf(access, { namespace, name })
  const kubeconfig = join(folder, 'kubeconfig')
  const cluster = { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') }
  await writeFile(
    kubeconfig,
    stringify({
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'a' },
      clusters: [{ name: 'a', cluster }],
      users: [{ name: 'a', user: { token } }],
      contexts: [{ name: 'a', context: { cluster: 'a', user: 'a', namespace } }],
    }),
  )
  return kubeconfig
}

describeCharts('A manager that may read no Events', () =>
  onOwnApiServer('since its chart is an older one', (api) => {
    it('works all the same, and its log says what it may not', async () => {
      await prepareForManager(api.client)
      const folder = await mkdtemp(join(tmpdir(), 'regent-manager-'))
      onTestFinished(() => rm(folder, { recursive: true }))
      const kubeconfig = await accountWithout(api.client, api.access, folder)
      const manager = await ManagerProcess.start(folder, { kubeconfig })
      onTestFinished(() => manager.end())
      const metadata = { namespace: api.namespace, name: 'shop' }
      await api.client.create(mysqlClusters, manifest(api.namespace, { ...smallest, image: 'mysql:8.4.6' }))
      await vi.waitFor(async () => expect(await api.client.get(statefulSets, metadata)).toBeDefined(), {
        timeout: 60_000,
        interval: 200,
      })
      expect(await readFile(join(folder, 'manager.log'), 'utf8')).toMatch(/cannot list resource \\?"events\\?"/)
    })
  }),
)
