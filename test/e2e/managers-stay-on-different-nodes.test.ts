import { expect, it } from 'vitest'
import { manager } from '#kube/names/manager-names.ts'
import { pods } from '#kube/pods/stateful-set.ts'
import { withKubeCluster } from './with-kube-cluster.ts'

const demo = withKubeCluster()
const ofManagers = 'app.kubernetes.io/component=manager'

it('after drains of one node after the other the two managers are on two nodes', async () => {
  const cluster = demo.current
  const placed = async () => {
    const { items } = await cluster.client.list(pods, { namespace: manager.namespace, labelSelector: ofManagers })
    const staying = items.filter(
      ({ metadata, status }) => metadata.deletionTimestamp === undefined && status?.phase === 'Running',
    )
    return staying.map(({ spec }) => spec?.nodeName ?? '').toSorted()
  }
  const apart = async () => {
    const nodes = await placed()
    return nodes.length === 2 && new Set(nodes).size === 2
  }
  await cluster.until(() => 'two managers on two nodes', apart, 60_000)
  const all = (await cluster.kubectl('get', 'nodes', '-o', 'jsonpath={.items[*].metadata.name}')).trim().split(' ')
  for (const node of all) {
    try {
      const how = ['--ignore-daemonsets', '--delete-emptydir-data', '--pod-selector', ofManagers, '--timeout', '120s']
      await cluster.kubectl('drain', node, ...how)
      await cluster.until(
        () => `two managers on two nodes, none on ${node}`,
        async () => (await apart()) && !(await placed()).includes(node),
        90_000,
      )
    } finally {
      await cluster.kubectl('uncordon', node)
    }
  }
  expect(await apart()).toBe(true)
}, 600_000)
