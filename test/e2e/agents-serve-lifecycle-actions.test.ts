import { beforeAll, expect, it } from 'vitest'
import {
  expectAccount,
  expectActions,
  expectReports,
  lifecycle,
  prepareLifecycle,
  sayTheirRoles,
} from './lifecycle-calls.ts'
import { withKubeCluster } from './with-kube-cluster.ts'

const name = 'served'
beforeAll(() => prepareLifecycle(name))
const served = withKubeCluster({ name, instances: 2, spec: { lifecycle } })

it('agents beside mysqld say over HTTP who is primary, run scripts, and ask for the token of the Secret', () =>
  expectActions(served.current))

it('the agent of the primary makes an account, which replicas know too, and no other agent does', () =>
  expectAccount(served.current))

it('agents report their roles in Events, and labels go on coming from Regent’s record', () =>
  expectReports(served.current))

it('agents serve what the resource says next, once each pod was made anew', async () => {
  const cluster = served.current
  await cluster.whole(2)
  await expect(cluster.change({ lifecycle: { open: true } })).rejects.toThrow('who may call is not said')
  await cluster.change({ lifecycle: { tokenSecret: null, open: true, port: 3601, probes: null } })
  await sayTheirRoles(cluster, { port: 3601 })
  await cluster.whole(2, 180_000)
  const { initContainers = [] } = (await cluster.pod(await cluster.primary())).spec ?? {}
  const ports = initContainers.flatMap((container) => container.ports ?? [])
  expect(ports).toContainEqual({ name: 'http', containerPort: 3601, protocol: 'TCP' })
})
