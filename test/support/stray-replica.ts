import { BareInstance, until } from './bare-instance.ts'
import type { TestCluster } from './cluster.ts'

/** A server of nobody's that somebody made by hand, and lets replicate from a cluster's primary with semi-sync on. */
export class StrayReplica {
  readonly #instance: BareInstance

  private constructor(instance: BareInstance) {
    this.#instance = instance
  }

  static async create(): Promise<StrayReplica> {
    const instance = await BareInstance.create('stray-8')
    await instance.process.initialise()
    await instance.start()
    return new StrayReplica(instance)
  }

  uuid(): Promise<string> {
    return this.#instance.server.readState().then(({ uuid }) => uuid)
  }

  /** Connects to `primary` and acknowledges what it receives, until `stop`. */
  async acknowledge(
    cluster: TestCluster,
    primary: string,
    login: { readonly user: string; readonly password: string },
  ): Promise<void> {
    const { server } = this.#instance
    const { host, port } = await cluster.instance(primary)
    await server.stopReceiver()
    await server.setSemiSyncReplica(true)
    await server.pointTo({ host, port, ...login })
    await server.startReceiver()
  }

  /** Its connection was ended; it tries again each second. */
  async untilCutOff(): Promise<void> {
    await until(
      async () => (await this.#instance.server.readState()).channel?.ioRunning === 'connecting',
      'its connection is ended',
    )
  }

  async stop(): Promise<void> {
    await this.#instance.server.stopReceiver()
  }

  async remove(): Promise<void> {
    await this.#instance.remove()
  }
}
