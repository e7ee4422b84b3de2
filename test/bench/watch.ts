import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeClient, Selection } from '#controller-runtime/client/kube-client.ts'
import type { KubeObject, Resource } from '#controller-runtime/objects/objects.ts'

const withinMs = 60_000
const longest = 10_000

interface Come<Kind> {
  readonly atMs: number
  readonly object: Kind
}

/** What a watch brings, each with the time at which it came, in milliseconds since 1970. */
export class Watch<Kind extends KubeObject> {
  readonly #come: Come<Kind>[] = []
  readonly #over = new AbortController()
  #running: Promise<unknown> = Promise.resolve()
  #failure: unknown

  static async start<Kind extends KubeObject>(
    client: KubeClient,
    resource: Resource<Kind>,
    selection: Selection,
  ): Promise<Watch<Kind>> {
    const watch = new Watch<Kind>()
    const { resourceVersion } = await client.list(resource, selection)
    watch.#running = watch.#run(client, resource, { ...selection, resourceVersion }).catch((error: unknown) => {
      if (!watch.#over.signal.aborted) watch.#failure = error
    })
    return watch
  }

  /** When the first object came that fits, of those since a moment. */
  async first(what: string, sinceMs: number, fits: (object: Kind) => boolean): Promise<number> {
    for (const began = performance.now(); performance.now() - began < withinMs; await sleep(10)) {
      if (this.#failure !== undefined) throw new Error(`the watch for ${what} failed`, { cause: this.#failure })
      const found = this.#come.find(({ atMs, object }) => atMs >= sinceMs && fits(object))
      if (found !== undefined) return found.atMs
    }
    throw new Error(`${what} did not come within ${withinMs / 1_000} s`)
  }

  async end(): Promise<void> {
    this.#over.abort(new Error('the watch is over'))
    await this.#running
  }

  async #run(
    client: KubeClient,
    resource: Resource<Kind>,
    { resourceVersion, ...selection }: Selection & { readonly resourceVersion: string },
  ): Promise<void> {
    const { signal } = this.#over
    let from = resourceVersion
    while (!signal.aborted) {
      const options = { ...selection, resourceVersion: from, timeoutSeconds: 3_600, signal }
      for await (const event of client.watch(resource, options)) {
        const version = event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion
        from = version ?? from
        if (event.type !== 'BOOKMARK') this.#keep(event.object)
      }
    }
  }

  #keep(object: Kind): void {
    this.#come.push({ atMs: Date.now(), object })
    if (this.#come.length > longest) this.#come.shift()
  }
}
