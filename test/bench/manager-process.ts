import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { requestsIn } from './manager-metrics.ts'

const program = join(import.meta.dirname, '..', '..', 'src', 'main.ts')
const host = '127.0.0.1'
const ports = { api: 9500, metrics: 8080, health: 9440 }
const readyWithinMs = 120_000

/** `regent manager` as the chart runs it, but for what needs a node: webhooks, which an API server without a cluster's network could not call. */
export class ManagerProcess {
  readonly pid: number
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, pid: number) {
    this.#child = child
    this.pid = pid
  }

  /** @param folder gets its configuration and log */
  static async start(folder: string, kubeconfig: string, namespace: string): Promise<ManagerProcess> {
    const [config, logFile] = [join(folder, 'manager.yaml'), join(folder, 'manager.log')]
    const listen = Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, { host, port }]))
    const options = { version: 1, kube: { kubeconfig }, webhook: { enabled: false }, reconcile: { disabledCapabilities: ['webhooks', 'podMonitors'] }, images: { regent: 'regent:bench' }, log: { level: 'info' }, ...listen }
    await writeFile(config, stringify(options))
    const log = openSync(logFile, 'a')
    const child = spawn(process.execPath, [program, 'manager', '--config', config], { stdio: ['ignore', log, log], env: { ...process.env, POD_NAMESPACE: namespace, POD_NAME: 'regent-0' } })
    closeSync(log)
    process.once('exit', () => child.kill('SIGKILL'))
    await once(child, 'spawn')
    const manager = new ManagerProcess(child, child.pid ?? 0)
    for (const began = performance.now(); ; await new Promise((resolve) => setTimeout(resolve, 100))) {
      if (await manager.#isReady()) return manager
      if (child.exitCode === null && performance.now() - began < readyWithinMs) continue
      throw new Error(`the manager is not ready; it said: ${(await readFile(logFile, 'utf8')).slice(-2_000)}`)
    }
  }

  /** Requests to the Kubernetes API until now, by method. */
  async requests(): Promise<ReadonlyMap<string, number>> {
    return requestsIn(await (await fetch(`http://${host}:${ports.metrics}/metrics`)).text())
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
    return fetch(`http://${host}:${ports.health}/readyz`).then(({ ok }) => ok, () => false)
  }
}
