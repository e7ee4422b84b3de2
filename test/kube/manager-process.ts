import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { manager as names } from '#kube/names/manager-names.ts'
import { secrets } from '#kube/secrets/secrets.ts'
import type { KubeObject } from '#controller-runtime/objects/objects.ts'
import { freePort } from '../support/free-port.ts'
import { patienceMs } from '../support/patience.ts'
import type { ApiServerAccess } from './api-server.ts'
import { customResourceDefinitions, namespaces, type Client } from './clients.ts'

const program = join(import.meta.dirname, '..', '..', 'src', 'main.ts')
const host = '127.0.0.1'
const readyWithinMs = patienceMs

interface Ports {
  readonly api: number
  readonly metrics: number
  readonly health: number
}

/** What the chart makes before a manager starts: the definition, and in the manager's namespace the API's token. */
export async function prepareForManager(client: Client): Promise<void> {
  const { namespace, tokenSecret, tokenKey } = names
  await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  for (const name of ['custom-resource-definition', 'backup-definition', 'app-definition']) {
    const file = new URL(`../../charts/regent/templates/${name}.yaml`, import.meta.url)
    await client.create(customResourceDefinitions, parse(await readFile(file, 'utf8')) as KubeObject)
  }
  await client.create(secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace, name: tokenSecret },
    data: { [tokenKey]: Buffer.from('token').toString('base64') },
  })
}

/**
 * `regent manager` as the chart runs it, but for what needs a node: webhooks, which an API server without a cluster's
 * network could not call.
 */
export class ManagerProcess {
  readonly pid: number
  readonly #child: ChildProcess
  readonly #ports: Ports

  private constructor(child: ChildProcess, pid: number, ports: Ports) {
    this.#child = child
    this.pid = pid
    this.#ports = ports
  }

  /**
   * @param folder gets its configuration and log, `manager.log`
   * @param flags of Node
   */
  static async start(
    folder: string,
    { kubeconfig }: Pick<ApiServerAccess, 'kubeconfig'>,
    flags: readonly string[] = [],
  ): Promise<ManagerProcess> {
    const [config, logFile] = [join(folder, 'manager.yaml'), join(folder, 'manager.log')]
    const ports = { api: await freePort(), metrics: await freePort(), health: await freePort() }
    const listen = Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, { host, port }]))
    await writeFile(
      config,
      stringify({
        version: 1,
        kube: { kubeconfig },
        webhook: { enabled: false },
        reconcile: { disabledCapabilities: ['webhooks', 'podMonitors'] },
        images: { regent: 'regent:bench' },
        ...listen,
      }),
    )
    const log = openSync(logFile, 'a')
    const child = spawn(process.execPath, [...flags, program, 'manager', '--config', config], {
      stdio: ['ignore', log, log],
      env: { ...process.env, POD_NAMESPACE: names.namespace, POD_NAME: 'regent-0' },
    })
    closeSync(log)
    // Where nobody comes to end it.
    process.once('exit', () => child.kill('SIGKILL'))
    await once(child, 'spawn')
    const manager = new ManagerProcess(child, child.pid ?? 0, ports)
    for (const began = performance.now(); ; await new Promise((resolve) => setTimeout(resolve, 100))) {
      if (await manager.#isReady()) return manager
      if (child.exitCode === null && performance.now() - began < readyWithinMs) continue
      throw new Error(`the manager is not ready; it said: ${(await readFile(logFile, 'utf8')).slice(-2_000)}`)
    }
  }

  async metrics(): Promise<string> {
    return (await fetch(`http://${host}:${this.#ports.metrics}/metrics`)).text()
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const gone = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 10_000)
    await gone
    clearTimeout(timer)
  }

  async #isReady(): Promise<boolean> {
    return fetch(`http://${host}:${this.#ports.health}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  }
}
