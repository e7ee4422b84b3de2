import { describe, expect, it } from 'vitest'
import { admissionRoutes, requestIn, type AdmissionRequest } from './admission.ts'
import type { MySQLCluster } from '../spec/mysql-cluster.ts'
import { aCluster } from '../testing.ts'

const stored = aCluster({ image: 'mysql:8.4.3' })
const routes = admissionRoutes({
  defaults: { image: 'mysql:8.4.9' },
  lifecycleAgent: { image: 'regent:1', pullPolicy: 'Always', address: '0.0.0.0' },
  clusterOf: ({ namespace, name }) => (namespace === 'shops' && name === 'shop' ? stored : undefined),
})
type Path = '/mutate/mysqlclusters' | '/mutate/pods' | '/validate/mysqlclusters'
const ask = (path: Path, request: Partial<AdmissionRequest>) =>
  routes[path].review({ uid: 'u-7', operation: 'CREATE', ...request })
const patchIn = (answer: ReturnType<typeof ask>) =>
  JSON.parse(Buffer.from(answer.patch ?? '', 'base64').toString()) as unknown
const without = ({ spec: { image: _image, ...spec }, ...rest }: MySQLCluster) => ({ ...rest, spec })

describe('the defaulting webhook', () => {
  it('writes the chart’s image into a cluster that names none', () => {
    const answer = ask('/mutate/mysqlclusters', { object: aCluster() })
    expect(answer).toMatchObject({ uid: 'u-7', allowed: true, patchType: 'JSONPatch' })
    expect(patchIn(answer)).toEqual([{ op: 'add', path: '/spec/image', value: 'mysql:8.4.9' }])
  })

  it('keeps the image that runs where a later version of the resource names none', () => {
    expect(
      patchIn(ask('/mutate/mysqlclusters', { operation: 'UPDATE', object: without(stored), oldObject: stored })),
    ).toEqual([{ op: 'add', path: '/spec/image', value: 'mysql:8.4.3' }])
  })

  it.each<readonly [string, Partial<AdmissionRequest>]>([
    ['an image that is named', { object: stored }],
    ['nonsense, which the schema refuses', { object: { metadata: {}, spec: 'none' } }],
    [
      'the number of a Scale',
      { operation: 'UPDATE', subResource: 'scale', object: { metadata: { name: 'shop' }, spec: { replicas: 5 } } },
    ],
    ['nothing', { operation: 'DELETE', object: null }],
  ])('leaves %s alone', (_, request) => {
    expect(ask('/mutate/mysqlclusters', request)).toEqual({ uid: 'u-7', allowed: true })
  })
})

describe('the webhook of pods', () => {
  const annotations = {
    'regent.dev/lifecycle-agent': 'true',
    'regent.dev/lifecycle-open': 'true',
    'regent.dev/lifecycle-config-map': 'shop-env',
  }
  const aPod = (asked: object) => ({ metadata: { annotations: asked }, spec: { containers: [{ name: 'db' }] } })

  it('puts the lifecycle agent into a pod that asks for the agent, as a patch', () => {
    const answer = ask('/mutate/pods', { object: aPod(annotations) })
    expect(answer).toMatchObject({ uid: 'u-7', allowed: true, patchType: 'JSONPatch' })
    expect(patchIn(answer)).toContainEqual({
      op: 'add',
      path: '/spec/containers/-',
      value: expect.objectContaining({ name: 'kbagent', image: 'regent:1', imagePullPolicy: 'Always' }) as unknown,
    })
  })

  it('refuses what the annotations ask for and cannot be had, with the remedy', () => {
    expect(
      ask('/mutate/pods', { object: aPod({ ...annotations, 'regent.dev/lifecycle-container': 'mysql' }) }),
    ).toEqual({
      uid: 'u-7',
      allowed: false,
      status: {
        code: 422,
        message: expect.stringMatching(
          /^regent\.dev\/lifecycle-container: the pod has no container "mysql"; there are db \(REGENT_NOT_INJECTED: Correct in the pod’s template/,
        ) as string,
      },
    })
  })

  it.each<readonly [string, Partial<AdmissionRequest>]>([
    ['a pod that asks for nothing', { object: aPod({}) }],
    ['a pod that is changed', { operation: 'UPDATE', object: aPod(annotations) }],
    ['an eviction', { subResource: 'eviction', object: { metadata: { name: 'shop-0' } } }],
    ['what is no pod', { object: { metadata: { annotations } } }],
  ])('leaves %s alone', (_, request) => {
    expect(ask('/mutate/pods', request)).toEqual({ uid: 'u-7', allowed: true })
  })
})

describe('the validating webhook', () => {
  it('lets a sound cluster in, and says what is dangerous', () => {
    expect(ask('/validate/mysqlclusters', { object: stored })).toEqual({ uid: 'u-7', allowed: true })
    expect(ask('/validate/mysqlclusters', { object: aCluster({ image: 'mysql:8.4.3', instances: 1 }) })).toEqual({
      uid: 'u-7',
      allowed: true,
      warnings: [expect.stringContaining('nothing protects the data')],
    })
  })

  it('refuses with code, sentence and remedy of the catalogue', () => {
    expect(ask('/validate/mysqlclusters', { object: aCluster({ image: 'mysql:5.7' }) })).toEqual({
      uid: 'u-7',
      allowed: false,
      status: {
        code: 422,
        message:
          'spec.image is "mysql:5.7"; allowed is MySQL 8.0.26 or newer (REGENT_MYSQL_TOO_OLD: Use MySQL 8.0.26 or newer.)',
      },
    })
  })

  it('compares with what is stored', () => {
    expect(
      ask('/validate/mysqlclusters', {
        operation: 'UPDATE',
        object: aCluster({ image: 'mysql:8.4.3', storage: { size: '512Mi' } }),
        oldObject: stored,
      }),
    ).toMatchObject({
      allowed: false,
      status: { code: 422, message: expect.stringContaining('a volume cannot shrink (REGENT_REFUSED: ') as string },
    })
  })

  it('lets everything be deleted', () => {
    expect(ask('/validate/mysqlclusters', { operation: 'DELETE', object: null, oldObject: stored })).toEqual({
      uid: 'u-7',
      allowed: true,
    })
  })

  it('judges kubectl scale by the cluster it is about', () => {
    const scale = (replicas: unknown, name = 'shop') =>
      ask('/validate/mysqlclusters', {
        operation: 'UPDATE',
        subResource: 'scale',
        namespace: 'shops',
        name,
        object: { spec: { replicas } },
      })
    expect(scale(5)).toEqual({ uid: 'u-7', allowed: true })
    expect(scale(1)).toMatchObject({ allowed: true, warnings: [expect.stringContaining('spec.instances is 1')] })
    expect(scale(17)).toMatchObject({
      allowed: false,
      status: { message: expect.stringContaining('instances is 17; allowed is an integer from 1 to 16') as string },
    })
    expect(scale(undefined)).toMatchObject({ allowed: false })
    expect(scale(3, 'mall')).toMatchObject({
      allowed: false,
      status: { message: expect.stringContaining('cluster shops/mall is not known here yet') as string },
    })
  })

  it.each([[null], ['x'], [{ metadata: { name: 'shop' } }]])('refuses what is no cluster: %o', (object) => {
    expect(ask('/validate/mysqlclusters', { object })).toMatchObject({ allowed: false, status: { code: 422 } })
  })
})

describe('what the API server posts', () => {
  it('is a review of version 1 with a request', () => {
    const request = { uid: 'u-1', operation: 'CREATE' }
    expect(requestIn({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request })).toEqual(request)
  })

  it.each([
    [null],
    ['review'],
    [[]],
    [{}],
    [{ apiVersion: 'admission.k8s.io/v1beta1', kind: 'AdmissionReview', request: { uid: 'u', operation: 'CREATE' } }],
    [{ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' }],
    [{ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: { uid: 7 } }],
  ])('is nothing else: %o', (body) => {
    expect(() => requestIn(body)).toThrow(expect.objectContaining({ code: 'REGENT_BAD_REQUEST' }))
  })
})
