import { expect, it } from 'vitest'
import type { CertificateSource, TlsMaterial } from '#common/tls/tls.ts'
import type { MySQLCluster } from '#kube/spec/mysql-cluster.ts'
import { tellRoutersWhomToTrust } from './router-trust.ts'

function aSource() {
  let now: TlsMaterial | undefined
  let tell: (material: TlsMaterial) => void = () => undefined
  const source: CertificateSource = { current: () => now, onChange: (changed) => ((tell = changed), () => undefined) }
  return { source, put: (cert: string, ca: string) => tell((now = { cert, key: 'k', ca })) }
}

function aCluster(name: string, router?: object): MySQLCluster {
  return { metadata: { name, namespace: 'shops' }, spec: { ...(router && { router }) } } as unknown as MySQLCluster
}

it('Clusters with routers are looked at when the managers’ authority is another, and at nothing else', () => {
  const { source, put } = aSource()
  const looked: string[] = []
  const clusters = { list: () => [aCluster('shop', { replicas: 2 }), aCluster('plain')] }
  tellRoutersWhomToTrust(source, clusters, ({ namespace, name }) => looked.push(`${namespace}/${name}`))
  put('first', 'authority')
  expect(looked.splice(0)).toEqual(['shops/shop'])
  put('renewed', 'authority')
  expect(looked).toEqual([])
  put('renewed', 'another and authority')
  expect(looked).toEqual(['shops/shop'])
})
