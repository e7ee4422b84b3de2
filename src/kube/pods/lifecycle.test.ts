import { describe, expect, it } from 'vitest'
import { aCluster, testImages } from '../testing.ts'
import { podTemplateOf } from './pod-template.ts'

const named = <One extends { readonly name: string }>(all: readonly One[] = []): ReadonlyMap<string, One> =>
  new Map(all.map((one) => [one.name, one]))

/** The agent's container, the other containers, and the pod's volumes. */
function podWith(lifecycle: object | undefined, spec: object = {}) {
  const cluster = aCluster({ ...spec, ...(lifecycle && { lifecycle }) })
  const { initContainers, containers, volumes } = podTemplateOf(cluster, testImages).spec ?? expect.fail('no spec')
  const agent = named(initContainers).get('agent') ?? expect.fail('no agent')
  return {
    agent,
    env: named(agent.env),
    mounts: named(agent.volumeMounts),
    volumes: named(volumes),
    others: containers,
  }
}

describe('an agent that serves lifecycle actions', () => {
  it('is told so by its own container, whether a token is asked for or not', () => {
    const told = (lifecycle: object): unknown =>
      JSON.parse(podWith(lifecycle).env.get('REGENT_LIFECYCLE')?.value ?? '{}')
    expect(told({ open: true })).toEqual({ port: 3501, streamingPort: 3502, open: true })
    const tokenSecret = { name: 'callers' }
    expect(told({ tokenSecret, port: 3601, streamingPort: 3602 })).toEqual({
      port: 3601,
      streamingPort: 3602,
      tokenFile: '/etc/regent-lifecycle/token',
    })
    expect(podWith(undefined).env.has('REGENT_LIFECYCLE')).toBe(false)
  })

  it('sees the token of its callers, and starts without the Secret too', () => {
    const { volumes, mounts } = podWith({ tokenSecret: { name: 'callers', key: 'word' } })
    expect(mounts.get('lifecycle-token')?.mountPath).toBe('/etc/regent-lifecycle')
    expect(volumes.get('lifecycle-token')?.secret).toMatchObject({
      secretName: 'callers',
      optional: true,
      items: [{ key: 'word', path: 'token' }],
    })
    expect(podWith({ open: true }).volumes.has('lifecycle-token')).toBe(false)
  })

  it('has scripts as they are written, and knows its pod', () => {
    const actions = '[{"name":"x","exec":{"command":["sh","-c","echo $(hostname) $$"]}}]'
    const { env } = podWith({ open: true, actions, streaming: 'x' })
    // What the kubelet makes of the value.
    const arrives = (name: string) => env.get(name)?.value?.replaceAll('$$', '$')
    expect(arrives('KB_AGENT_ACTION')).toBe(actions)
    expect(arrives('KB_AGENT_PROBE')).toBe('null')
    expect(arrives('KB_AGENT_STREAMING')).toBe('x')
    const fields = ['NAMESPACE', 'POD_NAME', 'POD_UID', 'NODE_NAME'].map(
      (field) => env.get(`KB_AGENT_${field}`)?.valueFrom?.fieldRef?.fieldPath,
    )
    expect(fields).toEqual(['metadata.namespace', 'metadata.name', 'metadata.uid', 'spec.nodeName'])
  })

  it('takes three keys of a ConfigMap, and no other variable', () => {
    const { agent, env } = podWith({ open: true, configMap: 'shop-env' })
    expect(agent.envFrom).toBeUndefined()
    for (const key of ['KB_AGENT_ACTION', 'KB_AGENT_PROBE', 'KB_AGENT_STREAMING'])
      expect(env.get(key)?.valueFrom?.configMapKeyRef).toEqual({ name: 'shop-env', key, optional: true })
  })

  it('has ports with the names that callers look for, or with others where a container has these', () => {
    const portsOf = (spec: object) =>
      podWith({ open: true }, spec).agent.ports?.map(({ name, containerPort }) => [name, containerPort])
    const own = [
      ['agent', 9400],
      ['probes', 9401],
    ]
    expect(portsOf({})).toEqual([...own, ['http', 3501], ['streaming', 3502]])
    const exporter = { name: 'exporter', ports: [{ name: 'http', containerPort: 9104 }] }
    expect(portsOf({ pod: { containers: [exporter] } })).toEqual([...own, ['http-3501', 3501], ['streaming', 3502]])
  })

  it('has a token of the API server where it may have probes, and no other container has one', () => {
    const folder = '/var/run/secrets/kubernetes.io/serviceaccount'
    const probes = '[{"instance":"shop-mysql","action":"roleProbe"}]'
    for (const more of [{ probes }, { configMap: 'shop-env' }]) {
      const { mounts, volumes, others } = podWith({ open: true, ...more })
      expect(mounts.get('lifecycle-account')?.mountPath).toBe(folder)
      expect(volumes.get('lifecycle-account')?.projected?.sources).toHaveLength(3)
      const elsewhere = others.flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name))
      expect(elsewhere).not.toContain('lifecycle-account')
    }
    expect(podWith({ open: true }).volumes.has('lifecycle-account')).toBe(false)
  })
})
