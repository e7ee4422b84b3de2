import { describe, expect, it } from 'vitest'
import { Value } from 'typebox/value'
import type { App } from '../app/app.ts'
import { wholeSpecOf } from '../app/app-defaults.ts'
import { appSpecSchema, type AppSpec } from '../app/app-schema.ts'
import { admissionRoutes } from './admission.ts'
import { defaultApp, validateApp } from './app-validation.ts'

function anApp(said: object = {}, name = 'web'): App {
  const spec = { image: 'web:1', ports: [{ port: 80 }], ...said }
  return {
    apiVersion: 'apps.regent.dev/v1',
    kind: 'App',
    metadata: { name, namespace: 'shops' },
    spec: Value.Default(appSpecSchema, spec) as AppSpec,
  }
}

const refusalsOf = (next: App, before?: App) => validateApp(next, before).refusals.map(({ message }) => message)

describe('An App', () => {
  it('says nothing by a field with nothing behind', () => {
    const empty = { resources: { requests: { cpu: null }, limits: null }, volumes: [{ name: 'a', emptyDir: null }] }
    expect(refusalsOf(anApp({ ...empty, volumeMounts: [{ name: 'a', mountPath: '/a', subPath: null }] }))).toEqual([])
  })

  it('is taken with an image alone, and warned of what is legal and odd', () => {
    expect(validateApp(anApp(), undefined)).toEqual({ refusals: [], warnings: [] })
    expect(validateApp(anApp({ image: 'web', ports: [], replicas: 0 }), undefined).warnings).toEqual([
      'spec.image "web" names no version: a pod that is made again may run another one',
      'spec.ports is empty: there is no Service, and nobody is led to the pods',
      'spec.replicas is 0: nothing runs',
    ])
  })

  it.each([
    [anApp({ image: undefined }), 'spec.image is not given: there is nothing to run'],
    [anApp({ image: ' ' }), 'spec.image is not given: there is nothing to run'],
    [anApp({}, 'w'.repeat(53)), 'metadata.name has 53 characters; allowed are 52'],
    [anApp({ ports: [{ port: 80 }, { port: 80 }] }), 'spec.ports has port 80/TCP twice'],
    [
      anApp({
        ports: [
          { port: 80, name: 'a' },
          { port: 81, name: 'a' },
        ],
      }),
      'spec.ports has the name a twice',
    ],
    [anApp({ ports: [{ port: 0 }] }), 'spec: ports.0.port is 0; allowed is an integer from 1 to 65535'],
    [anApp({ colour: 'red' }), 'has the unknown key "colour"'],
    [anApp({ resources: { limits: { memory: 'lots' } } }), 'spec.resources.limits.memory is "lots"'],
    [anApp({ resources: { requests: { cpu: 2 }, limits: { cpu: 1 } } }), 'spec.resources.requests.cpu is 2'],
    [anApp({ volumeMounts: [{ name: 'data', mountPath: '/d' }] }), 'spec.volumeMounts names data, which is not in'],
    [anApp({ volumes: [{ name: 'a' }, { name: 'a' }] }), 'spec.volumes has a twice'],
    [anApp({ podLabels: { 'apps.regent.dev/app': 'other' } }), 'spec.podLabels has apps.regent.dev/app'],
  ])('is refused in a sentence: %#', (app, sentence) => {
    expect(refusalsOf(app)).toEqual([expect.stringContaining(sentence)])
  })

  it('may have one number twice where the protocols differ', () => {
    expect(
      refusalsOf(
        anApp({
          ports: [{ port: 53 }, { port: 53, protocol: 'UDP' }],
        }),
      ),
    ).toEqual([])
  })

  it('keeps the name of its Service, and may say the one that it has', () => {
    expect(refusalsOf(anApp({ service: { name: 'other' } }), anApp())).toEqual([
      expect.stringContaining('spec.service.name is "other"; allowed is "web"'),
    ])
    expect(refusalsOf(anApp({ service: { name: 'web' } }), anApp())).toEqual([])
  })

  it('that is stored already may stay as it is, whatever an older Regent let in', () => {
    const app = anApp({ image: undefined })
    expect(refusalsOf({ ...app, metadata: { ...app.metadata, labels: { a: 'b' } } }, app)).toEqual([])
  })

  it('gets names, the container’s ports and a Service’s name where it says none', () => {
    expect(defaultApp(anApp({ ports: [{ port: 80, targetPort: 8080 }] }), undefined)).toMatchObject([
      {
        ...{ op: 'replace', path: '/spec' },
        value: {
          ports: [{ name: 'port-80', port: 80, targetPort: 8080, protocol: 'TCP' }],
          service: { name: 'web', type: 'ClusterIP' },
        },
      },
    ])
    const [patch] = defaultApp(anApp(), undefined)
    const whole = { ...anApp(), spec: (patch as unknown as { value: AppSpec }).value }
    expect(defaultApp(whole, undefined)).toEqual([])
  })

  describe('without a probe', () => {
    const stored = (said: object): App => {
      const app = anApp(said)
      const [patch] = defaultApp(app, undefined)
      return { ...app, spec: (patch as unknown as { value: AppSpec } | undefined)?.value ?? app.spec }
    }
    const probeOf = ({ spec: { readinessProbe } }: App) => readinessProbe
    /** As a merge of the new manifest leaves it: what the manifest never said stays. */
    const merged = (before: App, ports: readonly object[]): App => ({
      ...before,
      spec: Value.Default(appSpecSchema, { ...before.spec, ports }) as AppSpec,
    })
    const after = (next: App, before: App): App => {
      const [patch] = defaultApp(next, before)
      return { ...next, spec: (patch as unknown as { value: AppSpec } | undefined)?.value ?? next.spec }
    }
    const written = { tcpSocket: { port: 8080 }, periodSeconds: 5, timeoutSeconds: 2 }

    it('is asked at the port of now, also once its ports changed', () => {
      const before = stored({ ports: [{ port: 8080 }] })
      const next = after(merged(before, [{ port: 9090 }]), before)
      expect(wholeSpecOf(next).readinessProbe).toMatchObject({ tcpSocket: { port: 9090 } })
    })

    it('is asked at the port of now, also where an older Regent wrote the probe down', () => {
      const before = { ...stored({ ports: [{ port: 8080 }] }) }
      const old = { ...before, spec: { ...before.spec, readinessProbe: written } }
      expect(defaultApp(old, old)).toEqual([])
      expect(probeOf(after(merged(old, [{ port: 9090 }]), old))).toBeUndefined()
      expect(probeOf(after(merged(old, []), old))).toBeUndefined()
    })

    it('keeps a probe that somebody asked for, or that leads to a port that is there', () => {
      const before = stored({ ports: [{ port: 8080 }], readinessProbe: { httpGet: { port: 8081 } } })
      expect(probeOf(after(merged(before, [{ port: 9090 }]), before))).toEqual({ httpGet: { port: 8081 } })
      const old = stored({ ports: [{ port: 8080 }], readinessProbe: written })
      expect(probeOf(old)).toEqual(written)
      expect(probeOf(after(merged(old, [{ port: 9090 }, { port: 8080 }]), old))).toEqual(written)
    })
  })

  it('keeps the Service’s name that it had, where somebody replaces it without naming one', () => {
    const patch = defaultApp(anApp(), anApp({ service: { name: 'shop-web' } }))
    expect(patch).toMatchObject([{ value: { service: { name: 'shop-web' } } }])
  })

  it('is asked about by both webhooks', () => {
    const image = { image: 'regent:1', pullPolicy: 'IfNotPresent' as const, address: '0.0.0.0' }
    const routes = admissionRoutes({ defaults: {}, lifecycleAgent: image, clusterOf: () => undefined })
    const request = { uid: 'u', operation: 'CREATE', object: anApp({ image: '' }) }
    expect(routes['/validate/apps'].review(request)).toMatchObject({ allowed: false, status: { code: 422 } })
    expect(routes['/validate/apps'].review({ ...request, operation: 'DELETE' })).toEqual({ uid: 'u', allowed: true })
    expect(routes['/mutate/apps'].review({ ...request, object: anApp() })).toMatchObject({ patchType: 'JSONPatch' })
    expect(routes['/validate/apps'].review({ uid: 'u', operation: 'CREATE', object: 7 })).toMatchObject({
      allowed: false,
    })
  })
})
