import type { V1Container, V1Pod, V1PodSpec } from '@kubernetes/client-node'
import { describe, expect, it } from 'vitest'
import { readConfiguration } from '#agents/lifecycle/configuration/configuration.ts'
import type { JsonPatchOperation } from '#controller-runtime/client/kube-client.ts'
import type { AgentImage } from './agent-container.ts'
import { injectionPatch } from './inject.ts'

const regent: AgentImage = { image: 'regent:1', pullPolicy: 'Always', address: '0.0.0.0' }
const actions = '[{"name":"roleProbe","exec":{"command":["bash","-c","echo $$ $(hostname) $ROLE"]}}]'
const open = { 'regent.dev/lifecycle-agent': 'true', 'regent.dev/lifecycle-open': 'true' }
const asking = { ...open, 'regent.dev/lifecycle-actions': actions }
const byConfigMap = { ...open, 'regent.dev/lifecycle-config-map': 'shop-env' }
const db: V1Container = { name: 'db', image: 'db:1' }

type Annotations = Readonly<Record<string, string>>
const aPod = (annotations: Annotations = asking, spec: Partial<V1PodSpec> = {}) => ({
  metadata: { name: 'shop-0', annotations },
  spec: { containers: [db], ...spec },
})

function injected(annotations: Annotations = asking, spec: Partial<V1PodSpec> = {}, agent = regent): V1PodSpec {
  return patched(aPod(annotations, spec), injectionPatch(aPod(annotations, spec), agent)).spec
}

/** As the API server applies `add`. */
function patched<Kind extends object>(object: Kind, patch: readonly JsonPatchOperation[]): Kind {
  const result = structuredClone(object)
  for (const { op, path, value } of patch) {
    expect(op).toBe('add')
    const [last = '', ...parents] = path.split('/').slice(1).toReversed()
    const parent = parents.toReversed().reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], result)
    if (last === '-') (parent as unknown[]).push(value)
    else (parent as Record<string, unknown>)[last] = value
  }
  return result
}

function agentIn({ containers }: V1PodSpec): V1Container {
  const found = containers.find(({ name }) => name === 'kbagent')
  if (found === undefined) throw new Error('the pod has no kbagent')
  return found
}

const environmentIn = ({ env = [] }: V1Container) => Object.fromEntries(env.map(({ name, value }) => [name, value]))
const refused = (annotations: Annotations, spec: Partial<V1PodSpec> = {}) => {
  try {
    injectionPatch(aPod(annotations, spec), regent)
  } catch (error) {
    expect(error).toMatchObject({ code: 'REGENT_NOT_INJECTED' })
    return (error as Error).message
  }
  throw new Error('it is not refused')
}

describe('a pod that asks for the lifecycle agent', () => {
  it('gets a container, after all others, that is Regent’s agent as the manager is', () => {
    const spec = injected()
    expect(spec.containers.map(({ name }) => name)).toEqual(['db', 'kbagent'])
    expect(spec.containers[0]).toEqual(db)
    expect(agentIn(spec)).toMatchObject({
      image: 'regent:1',
      imagePullPolicy: 'Always',
      args: ['lifecycle-agent', '--open', '--address', '0.0.0.0', '--port', '3501', '--streaming-port', '3502'],
      ports: [
        { name: 'http', containerPort: 3501, protocol: 'TCP' },
        { name: 'streaming', containerPort: 3502, protocol: 'TCP' },
      ],
      startupProbe: { tcpSocket: { port: 'http' } },
    })
    expect(agentIn(spec)).not.toHaveProperty('command')
    expect(spec.initContainers).toBeUndefined()
  })

  it('listens where the manager does in a network with IPv6 alone', () => {
    expect(agentIn(injected(asking, {}, { ...regent, address: '::' })).args).toContain('::')
  })

  it('knows which pod it is in from the downward API', () => {
    const { env } = agentIn(injected())
    for (const [name, fieldPath] of Object.entries({
      KB_AGENT_NAMESPACE: 'metadata.namespace',
      KB_AGENT_POD_NAME: 'metadata.name',
      KB_AGENT_POD_UID: 'metadata.uid',
      KB_AGENT_NODE_NAME: 'spec.nodeName',
    }))
      expect(env).toContainEqual({ name, valueFrom: { fieldRef: { fieldPath } } })
  })

  it('has scripts in its environment that the kubelet turns back into what was written', () => {
    const { KB_AGENT_ACTION = '', ...rest } = environmentIn(agentIn(injected()))
    expect(KB_AGENT_ACTION).toBe(actions.replaceAll('$', '$$$$'))
    expect(asTheKubeletExpands(KB_AGENT_ACTION)).toBe(actions)
    expect(rest).toMatchObject({ KB_AGENT_PROBE: 'null', KB_AGENT_STREAMING: '' })
  })

  it('serves what its annotations say', () => {
    const probes = '[{"instance":"shop","action":"roleProbe"}]'
    const env = environmentIn(
      agentIn(
        injected({
          ...asking,
          'regent.dev/lifecycle-probes': probes,
          'regent.dev/lifecycle-streaming': 'roleProbe',
        }),
      ),
    )
    const read = readConfiguration({ ...env, KB_AGENT_ACTION: asTheKubeletExpands(env['KB_AGENT_ACTION'] ?? '') })
    expect([[...(read.actions?.keys() ?? [])], read.probes.length, [...read.streaming]]).toEqual([
      ['roleProbe'],
      1,
      ['roleProbe'],
    ])
  })

  it('takes all variables from a ConfigMap that is named, and does the tasks that come there before it serves', () => {
    const spec = injected(byConfigMap)
    const agent = agentIn(spec)
    expect(agent.envFrom).toEqual([{ configMapRef: { name: 'shop-env' } }])
    expect(Object.keys(environmentIn(agent))).not.toContain('KB_AGENT_ACTION')
    expect(spec.initContainers).toEqual([
      expect.objectContaining({
        name: 'kbagent-worker',
        args: ['lifecycle-agent', '--server=false'],
        env: agent.env,
        envFrom: agent.envFrom,
        volumeMounts: agent.volumeMounts,
      }),
    ])
  })

  it('is of the restricted level, and writes to /tmp alone', () => {
    const spec = injected()
    expect(agentIn(spec).securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
      runAsNonRoot: true,
      runAsUser: 65_532,
      runAsGroup: 65_532,
    })
    expect(agentIn(spec).volumeMounts).toEqual([{ name: 'kbagent-tmp', mountPath: '/tmp' }])
    expect(spec.volumes).toEqual([{ name: 'kbagent-tmp', emptyDir: {} }])
  })

  it.each<readonly [string, Partial<V1PodSpec>, number, number]>([
    ['the pod’s', { securityContext: { runAsUser: 999, runAsGroup: 998 } }, 999, 998],
    ['the container’s', { securityContext: { runAsUser: 1 }, containers: [as(27, 28)] }, 27, 28],
    ['the container’s, with a group of the same number', { containers: [as(27)] }, 27, 27],
    ['nobody’s instead of root', { securityContext: { runAsUser: 0 } }, 65_532, 65_532],
  ])('runs as %s user', (_, spec, runAsUser, runAsGroup) => {
    const asked = { ...asking, 'regent.dev/lifecycle-container': 'db' }
    expect(agentIn(injected(asked, spec)).securityContext).toMatchObject({ runAsUser, runAsGroup, runAsNonRoot: true })
  })

  it('sees the volumes of the container that is named, beside what it needs itself', () => {
    const volumeMounts = [
      { name: 'data', mountPath: '/var/lib/db' },
      { name: 'scratch', mountPath: '/tmp/' },
    ]
    const volumes = [{ name: 'data' }, { name: 'scratch', emptyDir: {} }]
    const spec = injected(
      { ...asking, 'regent.dev/lifecycle-container': 'db' },
      { containers: [{ ...db, volumeMounts }], volumes },
    )
    expect(agentIn(spec).volumeMounts).toEqual(volumeMounts)
    expect(spec.volumes).toEqual(volumes)
  })

  it('sees what others mount into a volume of a privileged container, and mounts nothing there itself', () => {
    const volumeMounts = [
      { name: 'data', mountPath: '/data', mountPropagation: 'Bidirectional' },
      { name: 'data', mountPath: '/more', mountPropagation: 'None' },
    ]
    const spec = injected(
      { ...asking, 'regent.dev/lifecycle-container': 'db' },
      { containers: [{ ...db, securityContext: { privileged: true }, volumeMounts }], volumes: [{ name: 'data' }] },
    )
    expect(agentIn(spec).volumeMounts?.map(({ mountPropagation }) => mountPropagation)).toEqual([
      'HostToContainer',
      'None',
      undefined,
    ])
    expect(spec.containers[0]?.volumeMounts, 'the container itself stays as it is').toEqual(volumeMounts)
  })

  it('asks callers for the token of a Secret', () => {
    const { ['regent.dev/lifecycle-open']: _open, ...rest } = asking
    const spec = injected(
      { ...rest, 'regent.dev/lifecycle-token-secret': 'shop-agents' },
      { securityContext: { fsGroup: 7 }, volumes: [{ name: 'data' }] },
    )
    expect(agentIn(spec).args?.slice(0, 3)).toEqual(['lifecycle-agent', '--token-file', '/run/regent-lifecycle/token'])
    expect(agentIn(spec).volumeMounts).toContainEqual({
      name: 'kbagent-token',
      mountPath: '/run/regent-lifecycle',
      readOnly: true,
    })
    expect(spec.volumes?.[0]).toEqual({ name: 'data' })
    expect(spec.volumes).toContainEqual({
      name: 'kbagent-token',
      secret: { secretName: 'shop-agents', defaultMode: 0o440, items: [{ key: 'token', path: 'token' }] },
    })
  })
})

describe('an action that says what it runs in', () => {
  const exec = (more: object) => JSON.stringify([{ name: 'one', exec: { command: ['ls'], ...more } }])
  const with_ = (more: object) => ({ ...open, 'regent.dev/lifecycle-actions': exec(more) })

  it('runs in its own image, to which an init container brings Regent’s programs', () => {
    const before = { name: 'before', image: 'before:1' }
    const spec = injected(with_({ image: 'mysql:8.4.3' }), { initContainers: [before] })
    expect(agentIn(spec)).toMatchObject({
      image: 'mysql:8.4.3',
      imagePullPolicy: 'IfNotPresent',
      command: ['/opt/regent/bin/regent'],
    })
    expect(agentIn(spec).volumeMounts).toContainEqual({ name: 'kbagent', mountPath: '/opt/regent', readOnly: true })
    expect(spec.volumes).toContainEqual({ name: 'kbagent', emptyDir: {} })
    expect(spec.initContainers).toEqual([
      before,
      expect.objectContaining({
        name: 'init-kbagent',
        image: 'regent:1',
        imagePullPolicy: 'Always',
        command: ['cp', '-R', '/opt/regent/.', '/copy'],
        volumeMounts: [{ name: 'kbagent', mountPath: '/copy' }],
      }),
    ])
  })

  it('has its image said by annotation where a ConfigMap has the actions, and the worker runs there too', () => {
    const spec = injected({ ...byConfigMap, 'regent.dev/lifecycle-image': 'mysql:8.4.3' })
    expect(spec.initContainers?.map(({ name, image }) => `${name} ${image}`)).toEqual([
      'init-kbagent regent:1',
      'kbagent-worker mysql:8.4.3',
    ])
  })

  it('may name the container whose volumes it needs, and variables, of which the first of a name counts', () => {
    const two = JSON.stringify([
      {
        name: 'one',
        exec: { command: ['ls'], container: 'db', env: [{ name: 'A', value: '1' }, { name: 'KB_AGENT_POD_NAME' }] },
      },
      {
        name: 'two',
        exec: {
          command: ['ls'],
          env: [
            { name: 'A', value: '2' },
            { name: 'HOME', value: '/data' },
          ],
        },
      },
      { name: 'three', http: { port: '80' } },
    ])
    const spec = injected(
      { ...open, 'regent.dev/lifecycle-actions': two },
      { containers: [{ ...db, volumeMounts: [{ name: 'data', mountPath: '/data' }] }], volumes: [{ name: 'data' }] },
    )
    const { env = [], volumeMounts } = agentIn(spec)
    expect(volumeMounts).toContainEqual({ name: 'data', mountPath: '/data' })
    expect(env.filter(({ name }) => ['A', 'HOME'].includes(name))).toEqual([
      { name: 'A', value: '1' },
      { name: 'HOME', value: '/data' },
    ])
    expect(env.filter(({ name }) => name === 'KB_AGENT_POD_NAME')).toEqual([
      { name: 'KB_AGENT_POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    ])
  })

  it('is refused where another one says something else: there is one container for all', () => {
    const image = { 'regent.dev/lifecycle-image': 'mysql:9.7.4' }
    expect(refused({ ...with_({ image: 'mysql:8.4.3' }), ...image })).toBe(
      'regent.dev/lifecycle-actions and regent.dev/lifecycle-image name more than one image: mysql:9.7.4, mysql:8.4.3; all actions run in one container, so name one',
    )
    expect(refused({ ...with_({ container: 'db' }), 'regent.dev/lifecycle-container': 'log' })).toContain(
      'name more than one container: log, db',
    )
  })

  it.each([
    [{ image: 7 }, 'regent.dev/lifecycle-actions: action "one": exec.image is 7; allowed is a text'],
    [{ env: [{ value: 'x' }] }, 'regent.dev/lifecycle-actions: action "one": exec.env.0 lacks "name"'],
  ])('is refused where it is not understood: %j', (more, sentence) => {
    expect(refused(with_(more))).toContain(sentence)
  })
})

describe('ports', () => {
  const having = (...ports: readonly (readonly [number, string?])[]): V1Container => ({
    name: 'db',
    ports: ports.map(([containerPort, name]) => ({ containerPort, ...(name !== undefined && { name }) })),
  })
  const portsOf = (spec: Partial<V1PodSpec>) => {
    const agent = agentIn(injected(asking, spec))
    const at = (option: string) => Number(agent.args?.[agent.args.indexOf(option) + 1])
    expect(agent.ports?.map(({ containerPort }) => containerPort)).toEqual([at('--port'), at('--streaming-port')])
    expect((agent.startupProbe?.tcpSocket?.port ?? '') as string).toBe(agent.ports?.[0]?.name)
    return agent.ports?.map(({ name, containerPort }) => `${name} ${containerPort}`)
  }

  it.each<readonly [string, Partial<V1PodSpec>, readonly string[]]>([
    ['3501 and 3502', { containers: [having([3306, 'mysql'])] }, ['http 3501', 'streaming 3502']],
    ['the next of a container', { containers: [having([3501])] }, ['http 3502', 'streaming 3503']],
    ['the next of several', { containers: [having([3501], [3502], [3504])] }, ['http 3503', 'streaming 3505']],
    ['the streaming port alone', { containers: [having([3502])] }, ['http 3501', 'streaming 3503']],
    ['the next of a sidecar', { initContainers: [having([3501])], containers: [db] }, ['http 3502', 'streaming 3503']],
    ['a name of their own', { containers: [having([80, 'http'])] }, ['http-3501 3501', 'streaming 3502']],
    [
      'a name that nobody has',
      { containers: [having([80, 'http'], [81, 'http-3501'], [82, 'streaming'])] },
      ['http-3502 3502', 'streaming-3503 3503'],
    ],
  ])('are free in the pod: %s', (_, spec, expected) => {
    expect(portsOf(spec)).toEqual(expected)
  })
})

describe('a pod is left as it is', () => {
  it.each<readonly [string, V1Pod | ReturnType<typeof aPod>]>([
    ['without annotations', { metadata: {}, spec: { containers: [db] } }],
    ['where it says no', aPod({ ...asking, 'regent.dev/lifecycle-agent': 'false' })],
    ['where it does not say yes', aPod({ 'regent.dev/lifecycle-actions': actions })],
    ['where it has the container', aPod(asking, { containers: [db, { name: 'kbagent' }] })],
    ['where it has the sidecar', aPod(asking, { initContainers: [{ name: 'kbagent' }] })],
    [
      'where it has the container, whatever its annotations say',
      aPod({ ...open }, { containers: [{ name: 'kbagent' }] }),
    ],
  ])('%s', (_, pod) => {
    expect(injectionPatch(pod as ReturnType<typeof aPod>, regent)).toEqual([])
  })

  it('at the second time', () => {
    expect(injectionPatch({ ...aPod(), spec: injected() }, regent)).toEqual([])
  })
})

describe('a pod is refused', () => {
  const { ['regent.dev/lifecycle-open']: _open, ...closed } = asking
  it.each<readonly [string, Annotations, string]>([
    [
      'a word that is neither yes nor no',
      { ...asking, 'regent.dev/lifecycle-agent': 'yes' },
      'regent.dev/lifecycle-agent is "yes"; allowed is "true" or "false"',
    ],
    [
      'an annotation that is not known',
      { ...asking, 'regent.dev/lifecycle-probe': '[]' },
      'annotation regent.dev/lifecycle-probe is not known; there are regent.dev/lifecycle-agent, ',
    ],
    ['nothing to serve', open, 'nothing says what the agent serves; give regent.dev/lifecycle-actions a JSON list'],
    [
      'no word of callers',
      closed,
      'who may call the agent is not said; give regent.dev/lifecycle-token-secret the name of a Secret',
    ],
    [
      'two words of callers',
      { ...asking, 'regent.dev/lifecycle-token-secret': 't' },
      'regent.dev/lifecycle-token-secret asks for a token and regent.dev/lifecycle-open for none; give one of them',
    ],
    [
      'actions that are no JSON',
      { ...open, 'regent.dev/lifecycle-actions': '[' },
      'regent.dev/lifecycle-actions: its value is not JSON',
    ],
    [
      'an action that the agent would refuse',
      { ...open, 'regent.dev/lifecycle-actions': '[{"name":"a","exec":{"command":"ls"}}]' },
      'regent.dev/lifecycle-actions: action "a": exec.command is "ls"; allowed is',
    ],
    [
      'a probe of no action',
      { ...asking, 'regent.dev/lifecycle-probes': '[{"action":"b"}]' },
      'regent.dev/lifecycle-probes: "b" is no action of regent.dev/lifecycle-actions; there are roleProbe',
    ],
    [
      'a stream of no action',
      { ...asking, 'regent.dev/lifecycle-streaming': 'b' },
      'regent.dev/lifecycle-streaming: "b" is no action of regent.dev/lifecycle-actions',
    ],
    [
      'probes without actions',
      { ...byConfigMap, 'regent.dev/lifecycle-probes': '[]' },
      'regent.dev/lifecycle-probes is without regent.dev/lifecycle-actions; put all three into annotations',
    ],
    [
      'streams without actions',
      { ...byConfigMap, 'regent.dev/lifecycle-streaming': 'a' },
      'regent.dev/lifecycle-streaming is without regent.dev/lifecycle-actions',
    ],
    [
      'a container that is not there',
      { ...asking, 'regent.dev/lifecycle-container': 'mysql' },
      'regent.dev/lifecycle-container: the pod has no container "mysql"; there are db',
    ],
  ])('for %s', (_, annotations, sentence) => {
    expect(refused(annotations)).toContain(sentence)
  })

  it.each<readonly [string, Annotations, Partial<V1PodSpec>, string]>([
    ['the node’s network', asking, { hostNetwork: true }, 'the pod has hostNetwork, so that container kbagent'],
    ['an end', asking, { restartPolicy: 'OnFailure' }, 'the pod’s restartPolicy is OnFailure'],
    [
      'a token that nobody could read',
      { ...closed, 'regent.dev/lifecycle-token-secret': 't' },
      {},
      'the pod has no securityContext.fsGroup, without which container kbagent cannot read Secret t; set it',
    ],
    [
      'a mount that only its container can make',
      { ...asking, 'regent.dev/lifecycle-container': 'db' },
      { containers: [{ ...db, volumeMounts: [{ name: 'd', mountPath: '/d', subPathExpr: '$(POD)' }] }] },
      'container "db" mounts /d by subPathExpr, whose variables container kbagent does not have; mount by subPath',
    ],
  ])('for %s', (_, annotations, spec, sentence) => {
    expect(refused(annotations, spec)).toContain(sentence)
  })
})

function as(runAsUser: number, runAsGroup?: number): V1Container {
  return { ...db, securityContext: { runAsUser, ...(runAsGroup !== undefined && { runAsGroup }) } }
}

/**
 * `$$` is `$`, and `$(NAME)` the variable of that name:
 * https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/. A name that is
 * defined would be lost, which is shown here by nothing in its place.
 */
function asTheKubeletExpands(text: string): string {
  return text.replace(/\$\$|\$\([^)]*\)/g, (found) => (found === '$$' ? '$' : ''))
}
