import { BareInstance, until } from './bare-instance.ts'
import { eachOne } from './each-one.ts'

/** Two servers and no agents: `source`, and `replica`, which follows it when a test says so. */
export class SourceAndReplica {
  readonly source: BareInstance
  readonly replica: BareInstance

  private constructor(source: BareInstance, replica: BareInstance) {
    this.source = source
    this.replica = replica
  }

  static async create(): Promise<SourceAndReplica> {
    return new SourceAndReplica(await BareInstance.create('bare-0'), await BareInstance.create('bare-1'))
  }

  async initialise(): Promise<void> {
    await Promise.all([this.source.process.initialise(), this.replica.process.initialise()])
  }

  async start(): Promise<void> {
    await eachOne([this.source, this.replica], (server) => server.start())
  }

  /** Opens `source` for writes that wait for one acknowledgement, and lets `replica` follow and acknowledge. */
  async openWithReplica(): Promise<void> {
    const { source, replica } = this
    await source.server.setReadOnly('accounts')
    await source.server.setGates([replica.name])
    await source.server.setSemiSyncSource(1)
    await source.server.open()
    await this.follow()
  }

  async follow(): Promise<void> {
    const { source, replica } = this
    await replica.server.stopReceiver()
    await replica.server.setSemiSyncReplica(true)
    await replica.server.pointTo(source.sourceFor(replica))
    await replica.server.startApplier()
    await replica.server.startReceiver()
    await until(async () => (await replica.server.readState()).channel?.semiSync === true, 'the replica acknowledges')
    await until(
      async () => (await source.server.readState()).dumpThreads.some((thread) => thread.semiSync),
      'the source counts it',
    )
  }

  async remove(): Promise<void> {
    await this.source.remove()
    await this.replica.remove()
  }
}
