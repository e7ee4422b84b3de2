import type {
  V1Container,
  V1EnvVar,
  V1PodSecurityContext,
  V1SecurityContext,
  V1Volume,
  V1VolumeMount,
} from '@kubernetes/client-node'
import { agentContainer } from './marks.ts'
import type { AgentPorts } from './ports.ts'
import { literal, podVariables } from './variables.ts'
import type { Wishes } from './wishes.ts'

/** What the manager gives: the agent runs as the manager does. */
export interface AgentImage {
  readonly image: string
  readonly pullPolicy: 'Always' | 'IfNotPresent' | 'Never'
  /** Address that the agent listens on: `0.0.0.0`, or `::` where pods have IPv6 addresses only. */
  readonly address: string
}

/** What the pod gives. */
export interface Surroundings {
  readonly ports: AgentPorts
  /** Mounts of the container that is named. */
  readonly mounts: readonly V1VolumeMount[]
  /** The security context of the container that is named. */
  readonly container: V1SecurityContext | undefined
  readonly pod: V1PodSecurityContext | undefined
}

/** What is put into the pod. */
export interface Additions {
  readonly initContainers: readonly V1Container[]
  readonly container: V1Container
  readonly volumes: readonly V1Volume[]
}

/** A folder of Regent's image, and of no image that anybody's scripts need. */
const programs = '/opt/regent'
const tokenFolder = '/run/regent-lifecycle'
const volumes = { programs: agentContainer, tmp: `${agentContainer}-tmp`, token: `${agentContainer}-token` }
/** Nobody's. */
const nobody = 65_532

/**
 * The agent's container. Where scripts need an image of their own an init container copies Regent's programs to a
 * volume, and the agent runs from there in that image. Where a ConfigMap is named a worker goes before it: tasks reach
 * a pod by its ConfigMap.
 */
export function additionsOf(wishes: Wishes, surroundings: Surroundings, agent: AgentImage): Additions {
  const shared = sharedParts(wishes, surroundings, agent)
  const token = wishes.tokenSecret === undefined ? [] : ['--token-file', `${tokenFolder}/token`]
  const { http, streaming } = surroundings.ports
  const worker = { ...shared, name: `${agentContainer}-worker`, args: ['lifecycle-agent', '--server=false', ...token] }
  return {
    initContainers: [
      ...(wishes.image === undefined ? [] : [copyOf(agent, shared.securityContext)]),
      ...(wishes.configMap === undefined ? [] : [worker]),
    ],
    container: {
      ...shared,
      name: agentContainer,
      args: [
        'lifecycle-agent',
        ...(wishes.tokenSecret === undefined ? ['--open'] : token),
        '--address',
        agent.address,
        '--port',
        String(http.port),
        '--streaming-port',
        String(streaming.port),
      ],
      ports: [http, streaming].map(({ name, port }) => ({ name, containerPort: port, protocol: 'TCP' })),
      // A start may take long on a busy node.
      startupProbe: { tcpSocket: { port: http.name }, periodSeconds: 1, timeoutSeconds: 3, failureThreshold: 120 },
    },
    volumes: volumesOf(wishes, shared.volumeMounts),
  }
}

/** What agent and worker have in common. */
function sharedParts(wishes: Wishes, surroundings: Surroundings, { image, pullPolicy }: AgentImage) {
  const run =
    wishes.image === undefined
      ? { image, imagePullPolicy: pullPolicy }
      : { image: wishes.image, imagePullPolicy: 'IfNotPresent', command: [`${programs}/bin/regent`] }
  return {
    ...run,
    env: environmentOf(wishes),
    ...(wishes.configMap !== undefined && { envFrom: [{ configMapRef: { name: wishes.configMap } }] }),
    resources: { requests: { cpu: '50m', memory: '112Mi' } },
    securityContext: securityOf(surroundings),
    volumeMounts: mountsOf(wishes, surroundings),
  } satisfies Partial<V1Container>
}

/** The first variable of a name wins, and every variable here wins over one of the ConfigMap. */
function environmentOf({ served, env }: Wishes): V1EnvVar[] {
  const own: V1EnvVar[] = [
    ...(served === undefined
      ? []
      : [
          literal('KB_AGENT_ACTION', served.actions),
          literal('KB_AGENT_PROBE', served.probes),
          literal('KB_AGENT_STREAMING', served.streaming),
        ]),
    ...podVariables,
  ]
  const [names, given] = [new Set(own.map(({ name }) => name)), new Set(env.map(({ name }) => name))]
  const home = given.has('HOME') ? [] : [{ name: 'HOME', value: '/tmp' }]
  return [...own, ...env.filter(({ name }) => !names.has(name)), ...home]
}

/** As the "restricted" Pod Security Standard wants it. */
function securityOf(surroundings: Surroundings): V1SecurityContext {
  return {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
    seccompProfile: { type: 'RuntimeDefault' },
    runAsNonRoot: true,
    ...userOf(surroundings),
  }
}

/** The user of the container whose volumes the agent sees, else the pod's; never root. */
function userOf({ container, pod }: Surroundings): { readonly runAsUser: number; readonly runAsGroup: number } {
  const user = container?.runAsUser ?? pod?.runAsUser ?? nobody
  if (user === 0) return { runAsUser: nobody, runAsGroup: nobody }
  return { runAsUser: user, runAsGroup: container?.runAsGroup ?? pod?.runAsGroup ?? user }
}

function mountsOf({ image, tokenSecret }: Wishes, { mounts }: Surroundings): V1VolumeMount[] {
  const hasTmp = mounts.some(({ mountPath }) => mountPath.replace(/\/+$/, '') === '/tmp')
  return [
    ...mounts,
    ...(image === undefined ? [] : [{ name: volumes.programs, mountPath: programs, readOnly: true }]),
    ...(tokenSecret === undefined ? [] : [{ name: volumes.token, mountPath: tokenFolder, readOnly: true }]),
    ...(hasTmp ? [] : [{ name: volumes.tmp, mountPath: '/tmp' }]),
  ]
}

/** Volumes of the agent alone; the others are the pod's. */
function volumesOf({ tokenSecret }: Wishes, mounts: readonly V1VolumeMount[]): V1Volume[] {
  const isMounted = (name: string): boolean => mounts.some((mount) => mount.name === name)
  const items = [{ key: 'token', path: 'token' }]
  return [
    ...[volumes.programs, volumes.tmp].filter(isMounted).map((name) => ({ name, emptyDir: {} })),
    ...(tokenSecret === undefined
      ? []
      : [{ name: volumes.token, secret: { secretName: tokenSecret, defaultMode: 0o440, items } }]),
  ]
}

function copyOf({ image, pullPolicy }: AgentImage, securityContext: V1SecurityContext): V1Container {
  const to = '/copy'
  return {
    name: `init-${agentContainer}`,
    image,
    imagePullPolicy: pullPolicy,
    command: ['cp', '-R', `${programs}/.`, to],
    resources: { requests: { cpu: '50m', memory: '16Mi' } },
    securityContext,
    volumeMounts: [{ name: volumes.programs, mountPath: to }],
  }
}
