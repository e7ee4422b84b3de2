import { expect, it } from 'vitest'
import { validateApp } from '../admission/app-validation.ts'
import { aCluster } from '../testing.ts'
import { appServiceOf } from '../app/app-objects.ts'
import { routerAppOf, routerConfigOf } from './router-objects.ts'

const managers = { namespace: 'regent', ca: 'the authority' }

function made(router: object = {}, spec: object = {}) {
  const cluster = aCluster({ ...spec, router })
  const said = cluster.spec.router ?? expect.fail('no router')
  const app = routerAppOf(cluster, said, 'regent:1')
  return { app, config: routerConfigOf(cluster, said, managers) }
}

it('Routers are an App that the webhook takes, with the cluster’s bare name for its Service', () => {
  const { app } = made({ replicas: 3, ports: { write: 3406 }, service: { type: 'LoadBalancer' } })
  expect(validateApp(app, undefined)).toEqual({ refusals: [], warnings: [] })
  expect(app.metadata).toMatchObject({ name: 'shop-router', ownerReferences: [{ kind: 'MySQLCluster' }] })
  expect(app.spec).toMatchObject({
    ...{ replicas: 3, image: 'regent:1', spread: 'nodes', service: { name: 'shop', type: 'LoadBalancer' } },
    ports: [
      { name: 'mysql', port: 3406, targetPort: 3306 },
      { name: 'mysql-reads', port: 3307, targetPort: 3307 },
    ],
  })
})

it('No pod of a router has the label by which instances are selected', () => {
  const { app } = made()
  expect(Object.keys(app.spec.podLabels).filter((label) => label.startsWith('regent.dev/'))).toEqual([])
})

it('A router is given the agents’ token and no other secret', () => {
  const { app } = made()
  expect(app.spec.volumes?.find(({ name }) => name === 'secrets')).toMatchObject({
    secret: { secretName: 'shop-internal', items: [{ key: 'agent-token', path: 'agent-token' }] },
  })
})

it('A router may drain for as long as its settings say, and a while to end', () => {
  expect(made({ drainMs: 120_000 }).app.spec.terminationGracePeriodSeconds).toBe(130)
})

it('Other settings replace the routers; another number of instances only changes what they read', () => {
  const digest = ({ app }: ReturnType<typeof made>) => app.spec.podAnnotations['regent.dev/router-settings']
  expect(digest(made())).not.toBe(digest(made({ waitMs: 100 })))
  expect(digest(made())).not.toBe(digest(made({ connectMs: 100 })))
  expect(digest(made())).toBe(digest(made({}, { instances: 5 })))
  const file = JSON.parse(
    made({ connectMs: 80, logSessions: true, reads: { fallback: 'none' } }, { instances: 5 }).config.data?.[
      'router.json'
    ] ?? '{}',
  ) as unknown
  expect(file).toEqual({
    ...{ version: 1, cluster: 'shop', namespace: 'shops', instances: 5, manager: 'https://regent.regent.svc' },
    settings: {
      ...{ waitMs: 2_000, connectMs: 80, drainMs: 30_000, maxConnections: 4_000, logSessions: true },
      reads: { maxLagMs: 5_000, fallback: 'none' },
    },
  })
  expect(made().config.data?.['ca.crt']).toBe('the authority')
})

it.each([
  ['both families, where the cluster has both', {}, { ipFamilyPolicy: 'PreferDualStack' }],
  ['the family of a cloud’s load balancer, whose clients have its address', { type: 'LoadBalancer' }, {}],
  [
    'what is said',
    { type: 'LoadBalancer', ipFamilyPolicy: 'RequireDualStack' },
    { ipFamilyPolicy: 'RequireDualStack' },
  ],
])('The Service of routers has %s', (_, service, wanted) => {
  const { app } = made({ service })
  expect(validateApp(app, undefined)).toEqual({ refusals: [], warnings: [] })
  const { ipFamilyPolicy } =
    appServiceOf({ ...app, metadata: { ...app.metadata, uid: 'app-1' } })?.spec ?? expect.fail('no Service')
  expect({ ...(ipFamilyPolicy !== undefined && { ipFamilyPolicy }) }).toEqual(wanted)
})

it('A router is told every address of its pod: it listens at each', () => {
  expect(made().app.spec.envs).toContainEqual({
    name: 'POD_IPS',
    valueFrom: { fieldRef: { fieldPath: 'status.podIPs' } },
  })
})
