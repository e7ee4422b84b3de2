import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { monotonicMs } from '../support/monotonic.ts'

/**
 * When kube-proxy, on the client's machine, led a Service to which address: what `nft monitor` tells of its rules. That
 * is the last step between Regent's write of an EndpointSlice and a client that is led elsewhere. Only where kube-proxy
 * works with nftables in this very network namespace, as on the cluster that this project makes.
 */
export class ProxyWatch {
  readonly #led: { readonly address: string; readonly atMs: number }[] = []
  readonly #child: ChildProcess

  private constructor(service: string) {
    // A pipe is filled before it is passed on, unless by the line.
    this.#child = spawn('stdbuf', ['-oL', 'nft', 'monitor', 'new', 'rules'], { stdio: ['ignore', 'pipe', 'ignore'] })
    const rule = new RegExp(` service-\\w+-${service}/.* goto endpoint-.*__([\\d.]+)/`)
    createInterface({ input: this.#child.stdout! }).on('line', (line) => {
      const [, address] = rule.exec(line) ?? []
      if (address !== undefined) this.#led.push({ address, atMs: monotonicMs() })
    })
  }

  /** @param service `<namespace>/<name>` */
  static async start(service: string): Promise<ProxyWatch> {
    const watch = new ProxyWatch(service)
    await once(watch.#child, 'spawn')
    return watch
  }

  /** Undefined where the Service has not been led there since. */
  ledTo(address: string, sinceMs: number): number | undefined {
    return this.#led.find((one) => one.address === address && one.atMs >= sinceMs)?.atMs
  }

  async stop(): Promise<void> {
    const gone = once(this.#child, 'exit')
    this.#child.kill()
    await gone
  }
}
