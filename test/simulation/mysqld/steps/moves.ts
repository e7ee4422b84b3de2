import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import type { Stage, StagedServer, StagedWrite } from './stage.ts'

/** Opens `source` for writes that wait for `acks` replicas. 0: for nobody. */
export async function open(source: StagedServer, acks: number): Promise<void> {
  await source.port.setReadOnly('accounts')
  await source.port.setSemiSyncSource(acks)
  await source.port.open()
}

/** Lets `replica` follow `source`, acknowledging or not, and waits until the replica is connected. */
export async function follow(
  { until }: Stage,
  { source, replica, acknowledges = true }: { source: StagedServer; replica: StagedServer; acknowledges?: boolean },
): Promise<void> {
  const { port } = replica
  await port.stopReceiver()
  await port.setSemiSyncReplica(acknowledges)
  await port.pointTo(source.sourceFor(replica))
  await port.startApplier()
  await port.startReceiver()
  await until(async () => (await port.readState()).channel?.ioRunning === 'yes', `${replica.name} is connected`)
  await until(async () => {
    const { uuid } = await port.readState()
    const dumps = (await source.port.readState()).dumpThreads
    return dumps.some(({ serverUuid, semiSync }) => serverUuid === uuid && semiSync === acknowledges)
  }, `${source.name} sees ${replica.name}`)
}

/** Begins a write and waits until it is in the binlog, waiting for an acknowledgement. */
export async function writeThatWaits(stage: Stage, source: StagedServer): Promise<StagedWrite> {
  const before = await source.port.waitingSessions()
  const write = await source.write()
  await waits(stage, source, before + 1)
  return write
}

export async function waits({ until }: Stage, source: StagedServer, count: number): Promise<void> {
  await until(async () => (await source.port.waitingSessions()) === count, `${count} transactions wait`)
  // The server names a transaction as owned a moment before the binlog has it.
  await until(async () => (await source.port.readState()).semiSyncSource.waiting > 0, 'the server waits')
}

/** `executed`, and where there is any `owned` and `received`. */
export async function holdsOf({ port }: StagedServer): Promise<string> {
  const { executed, owned, received } = await port.readHolds()
  const waiting = parseGtidSet(owned).toString()
  return [`executed ${executed || 'nothing'}`, waiting && `owned ${waiting}`, received && `received ${received}`]
    .filter((part) => part !== '')
    .join(', ')
}

export async function executes(server: StagedServer, set: string): Promise<void> {
  if (!(await server.port.waitExecuted(set, 10_000))) throw new Error(`${server.name} does not execute ${set}`)
}

/** What is heard of each by now. */
export function heardOf(...writes: readonly StagedWrite[]): string {
  return writes.map(({ heard }) => heard).join(', ')
}

/** What is heard of each in the end. */
export async function endsOf(...writes: readonly StagedWrite[]): Promise<string> {
  return (await Promise.all(writes.map((write) => write.ends()))).join(', ')
}

/** Its error's code, or what it gave. */
export async function outcomeOf(act: Promise<unknown>): Promise<string> {
  try {
    await act
    return 'done'
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error)
  }
}
