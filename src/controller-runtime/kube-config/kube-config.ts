import type { KubeConfig } from '@kubernetes/client-node'
import { access, readFile, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { readBounded } from '#common/input/bounded-file.ts'
import { described, RegentError } from '#common/errors/errors.ts'
import { say, type Sayable, type Sentence } from '#common/sentence/sentence.ts'
import type { Clock } from '#common/ports/ports.ts'
import { hostPort } from '#common/text/host-port.ts'
import { proxyFromEnvironment } from './environment-proxy.ts'

/** What proves who asks, as one request needs it. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>
  readonly tls: TlsSettings
}

export interface TlsSettings {
  /** PEM, as with `cert` and `key`. */
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly servername?: string
  readonly rejectUnauthorized?: boolean
}

/** Where the API server is and how to speak with it. */
export interface KubeConnection {
  /** `https://10.96.0.1:443`, perhaps with a path. */
  readonly server: string
  /** The namespace this process lives in, or the context's; `default` where neither says. */
  readonly namespace: string
  /** The kubeconfig's own, else the one that the environment names for this server. */
  readonly proxyUrl?: string
  /** Tokens and certificates are short-lived, so ask before every request. `fresh`: those given last were refused. */
  credentials(fresh?: boolean): Promise<Credentials>
}

export interface ConnectionSources {
  /** A kubeconfig file to take before anything else. */
  readonly kubeconfig?: string | undefined
  /** A context of the kubeconfig other than its current one. A pod's service account has none, so it is passed over. */
  readonly context?: string | undefined
  readonly clock: Clock
  readonly env?: NodeJS.ProcessEnv
  readonly home?: string
  /** Where a pod finds its service account. */
  readonly serviceAccountFolder?: string
}

/**
 * Finds the API server: the file given, then `KUBECONFIG`, then the pod's service account unless a context is named,
 * then `~/.kube/config`. Throws `REGENT_KUBE_CONFIG`. Only a kubeconfig loads `@kubernetes/client-node`, which costs 90
 * MB of memory; a pod does not need it.
 */
export async function findKubeConnection(sources: ConnectionSources): Promise<KubeConnection> {
  const { kubeconfig, context, env = process.env, home = homedir() } = sources
  const fromFiles = (paths: readonly string[]) => fromKubeconfig(paths, context, env)
  if (kubeconfig !== undefined) return fromFiles([kubeconfig])
  const named = (env['KUBECONFIG'] ?? '').split(':').filter((path) => path !== '')
  if (named.length > 0) return fromFiles(named)
  if (env['KUBERNETES_SERVICE_HOST'] && context === undefined) return inCluster(sources, env)
  const usual = join(home, '.kube', 'config')
  if (await exists(usual)) return fromFiles([usual])
  const noPod = env['KUBERNETES_SERVICE_HOST']
    ? say`a pod’s service account has no contexts`
    : say`this is no pod (KUBERNETES_SERVICE_HOST is not set)`
  throw new RegentError('REGENT_KUBE_CONFIG', say`${noPod}, KUBECONFIG names no file and ${usual} does not exist`)
}

/** The kubelet writes a new token long before the old one ends; client-go looks as often. */
const rereadMs = 60_000

async function inCluster(sources: ConnectionSources, env: NodeJS.ProcessEnv): Promise<KubeConnection> {
  const folder = sources.serviceAccountFolder ?? '/var/run/secrets/kubernetes.io/serviceaccount'
  const host = env['KUBERNETES_SERVICE_HOST'] ?? ''
  const port = env['KUBERNETES_SERVICE_PORT'] ?? '443'
  let known: { readonly credentials: Credentials; readonly atMs: number } | undefined

  async function read(): Promise<Credentials> {
    const [token, ca] = await Promise.all([readOf(join(folder, 'token')), readOf(join(folder, 'ca.crt'))])
    return { headers: { authorization: `Bearer ${token.trim()}` }, tls: { ca } }
  }

  async function credentials(fresh = false): Promise<Credentials> {
    const now = sources.clock.monotonicMs()
    if (known !== undefined && !fresh && now - known.atMs < rereadMs) return known.credentials
    known = { credentials: await read(), atMs: now }
    return known.credentials
  }

  // A pod without a service account fails here and now, not at its first request.
  await credentials()
  const namespace = await readFile(join(folder, 'namespace'), 'utf8').catch(() => '')
  return {
    server: `https://${hostPort(host, port)}`,
    namespace: namespace.trim() || 'default',
    credentials,
  }
}

/**
 * `applyToHTTPSOptions` fills these in; it reads token and certificate files again, and runs credential plugins when
 * theirs expired.
 */
interface FilledOptions {
  headers?: Readonly<Record<string, unknown>>
  auth?: string
  ca?: unknown
  cert?: unknown
  key?: unknown
  servername?: unknown
  rejectUnauthorized?: unknown
}

async function fromKubeconfig(
  paths: readonly string[],
  wanted: string | undefined,
  env: NodeJS.ProcessEnv,
): Promise<KubeConnection> {
  const sources = { paths, once: new Map<string, string>() }
  let config = await loadFiles(sources, wanted)
  const context = config.getContextObject(config.getCurrentContext())
  const cluster = config.getCurrentCluster()
  if (cluster === null) throw refused(paths, clusterIsAbsent(config.getCurrentContext(), context?.cluster, config))

  async function credentials(fresh = false): Promise<Credentials> {
    // A plugin's token is kept until it says it expires; a new configuration has none yet.
    if (fresh) config = await loadFiles(sources, wanted)
    const filled: FilledOptions = {}
    try {
      await config.applyToHTTPSOptions(filled as Parameters<typeof config.applyToHTTPSOptions>[0])
    } catch (error) {
      const user = JSON.stringify(config.getCurrentUser()?.name)
      throw refused(paths, say`credentials of user ${user}: ${absentProgram(error) ?? described(error)}`, error)
    }
    return { headers: headersIn(filled), tls: tlsIn(filled) }
  }

  const server = cluster.server.replace(/\/+$/, '')
  const proxyUrl = cluster.proxyUrl || proxyFromEnvironment(server, env)
  return {
    server,
    namespace: context?.namespace ?? 'default',
    ...(proxyUrl === undefined ? {} : { proxyUrl }),
    credentials,
  }
}

/** Kubeconfigs of whole fleets have hundreds of kilobytes. */
const kubeconfigLimitBytes = 4_194_304

/** Kubeconfig files, and what was read of those that can be read only once, such as the pipe of `<(…)`. */
interface KubeconfigSources {
  readonly paths: readonly string[]
  readonly once: Map<string, string>
}

async function textOfKubeconfig(path: string, once: Map<string, string>): Promise<string> {
  const before = once.get(path)
  if (before !== undefined) return before
  const isFile = (await stat(path)).isFile()
  const text = (await readBounded(path, kubeconfigLimitBytes)).toString('utf8')
  if (!isFile) once.set(path, text)
  return text
}

async function loadFiles({ paths, once }: KubeconfigSources, context: string | undefined) {
  const { KubeConfig } = await import('@kubernetes/client-node')
  const whole = new KubeConfig()
  for (const path of paths) {
    const one = new KubeConfig()
    try {
      one.loadFromString(await textOfKubeconfig(path, once))
      one.makePathsAbsolute(dirname(path))
    } catch (error) {
      throw new RegentError('REGENT_KUBE_CONFIG', say`${path} cannot be used as a kubeconfig: ${described(error)}`, {
        cause: error,
      })
    }
    // The first file that says something wins, as with kubectl; a plain merge would refuse a name that two files have.
    whole.loadFromOptions({
      clusters: merged(whole.getClusters(), one.getClusters()).map((cluster) =>
        cluster.server.startsWith('http:') ? { ...cluster, skipTLSVerify: true } : cluster,
      ),
      users: merged(whole.getUsers(), one.getUsers()),
      contexts: merged(whole.getContexts(), one.getContexts()),
      currentContext: whole.getCurrentContext() || one.getCurrentContext(),
    })
  }
  const chosen = context ?? whole.getCurrentContext()
  const known = namesOf(whole.getContexts())
  if (!chosen)
    throw refused(
      paths,
      say`no context is the current one; there is: ${known}. Name one with --context, or with "kubectl config use-context"`,
    )
  if (whole.getContextObject(chosen) === null)
    throw refused(paths, say`there is no context ${JSON.stringify(chosen)}; there is: ${known}`)
  whole.setCurrentContext(chosen)
  return whole
}

function refused(paths: readonly string[], why: Sayable, cause?: unknown): RegentError {
  return new RegentError('REGENT_KUBE_CONFIG', say`${paths.join(', ')}: ${why}`, { cause })
}

function clusterIsAbsent(context: string, cluster: string | undefined, config: KubeConfig): Sentence {
  const there = namesOf(config.getClusters())
  return say`context ${JSON.stringify(context)} leads to cluster ${JSON.stringify(cluster)}, which is not there; there is: ${there}`
}

function namesOf(named: readonly { readonly name: string }[]): Sayable {
  return named.map(({ name }) => name).join(', ') || say`none`
}

/** Clouds have a program of theirs make the token. */
function absentProgram(error: unknown): Sentence | undefined {
  const { code, syscall, path } = error as NodeJS.ErrnoException
  return code === 'ENOENT' && syscall?.startsWith('spawn') === true && path !== undefined
    ? say`the program ${path} is not there; install that, or put its folder on PATH`
    : undefined
}

function merged<Named extends { readonly name: string }>(before: readonly Named[], after: readonly Named[]): Named[] {
  return [...before, ...after.filter(({ name }) => !before.some((known) => known.name === name))]
}

function headersIn(filled: FilledOptions): Readonly<Record<string, string>> {
  const headers = Object.entries(filled.headers ?? {}).map(
    ([name, value]) => [name.toLowerCase(), String(value)] as const,
  )
  const basic =
    filled.auth === undefined ? {} : { authorization: `Basic ${Buffer.from(filled.auth).toString('base64')}` }
  return { ...basic, ...Object.fromEntries(headers) }
}

function tlsIn(filled: FilledOptions): TlsSettings {
  const texts = {
    ca: textOf(filled.ca),
    cert: textOf(filled.cert),
    key: textOf(filled.key),
    servername: textOf(filled.servername),
  }
  const given = Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== undefined))
  return { ...given, ...(filled.rejectUnauthorized === false ? { rejectUnauthorized: false } : {}) }
}

function textOf(value: unknown): string | undefined {
  if (Buffer.isBuffer(value)) return value.toString('utf8')
  return typeof value === 'string' ? value : undefined
}

async function readOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new RegentError('REGENT_KUBE_CONFIG', say`the service account cannot be read: ${described(error)}`, {
      cause: error,
    })
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
