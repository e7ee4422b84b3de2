import type { Recovery } from '#failover/protocol/notes.ts'
import { lastingMs, type TestCluster } from './cluster.ts'
import { monotonicMs } from './monotonic.ts'
import { longestPause } from './outage.ts'
import type { Writer } from './writer.ts'
import type { Acknowledged } from './writer-wire.ts'

export type Event = 'switchover' | 'kill' | 'freeze' | 'cut'

/** What cuts the machine of an instance off from everybody, and what ends that. */
export interface Cable {
  isolate(instance: string): Promise<void>
  mend(): Promise<void>
}

/** One change of primary as a client, the manager and a person waiting for the end saw it. */
export interface Episode {
  readonly event: Event
  readonly from: string
  readonly to: string
  /**
   * For a fault: from it to the first write that another server acknowledged. For a switchover: between two
   * acknowledged writes.
   */
  readonly outageMs: number
  /** From the event until the new primary let the client in, so that it could ask for its first write. */
  readonly letInMs: number
  /** From the event until the manager's recovery began. */
  readonly noticedMs: number
  readonly recovery: Recovery
  /** From the event until every instance was back and counted. */
  readonly wholeMs: number
  /** The longest pause of writes from the first write after the event until then. */
  readonly stallMs: number
}

/**
 * Makes it happen to a cluster that is whole, under a writer's load, and waits until the cluster is whole again. A
 * machine that is cut off comes back once another primary has acknowledged a write.
 *
 * @param cable only needed for `cut`
 */
export async function runEpisode(cluster: TestCluster, writer: Writer, event: Event, cable?: Cable): Promise<Episode> {
  const from = await cluster.primary()
  const { instances } = await cluster.view()
  const { atMs, outageMs, letInMs, firstMs } =
    event === 'switchover'
      ? await switchedOver(cluster, writer)
      : await failedOver(cluster, writer, from, () => happen(cluster, from, event, cable))
  await cable?.mend()
  const wallMs = wallAt(atMs)
  const recovery = await recoverySince(cluster, wallMs)
  await cluster.whole(instances.length)
  const wholeMs = monotonicMs() - lastingMs - atMs
  return {
    event,
    from,
    to: await cluster.primary(),
    outageMs,
    letInMs,
    noticedMs: recovery.startedWallMs - wallMs,
    recovery,
    wholeMs,
    stallMs: longestPause(
      writer.report.acknowledged.filter(({ ackedMs }) => ackedMs >= firstMs),
      firstMs,
    ).pauseMs,
  }
}

interface Outage {
  readonly atMs: number
  readonly outageMs: number
  readonly letInMs: number
  /** When the first write on the new primary was acknowledged. */
  readonly firstMs: number
}

async function switchedOver(cluster: TestCluster, writer: Writer): Promise<Outage> {
  const atMs = monotonicMs()
  const before = writer.lastBefore(atMs)
  await cluster.switchover()
  const first = await writer.next(atMs, { ...(before && { notBy: before.host }) })
  return {
    atMs,
    outageMs: writer.longestPause(atMs).pauseMs,
    letInMs: letInMs(writer, first, atMs),
    firstMs: first.ackedMs,
  }
}

/** Resolves to the moment in which it began. */
async function happen(
  cluster: TestCluster,
  primary: string,
  event: 'kill' | 'freeze' | 'cut',
  cable: Cable | undefined,
): Promise<number> {
  if (event !== 'cut') return cluster.fault(primary, event === 'kill' ? 'kill-mysqld' : 'freeze-mysqld')
  if (cable === undefined) throw new Error('the machines have no network that can be cut')
  const atMs = monotonicMs()
  await cable.isolate(primary)
  return atMs
}

async function failedOver(
  cluster: TestCluster,
  writer: Writer,
  primary: string,
  happens: () => Promise<number>,
): Promise<Outage> {
  const { host } = await cluster.instance(primary)
  const atMs = await happens()
  const first = await writer.next(atMs, { notBy: host })
  return { atMs, outageMs: first.ackedMs - atMs, letInMs: letInMs(writer, first, atMs), firstMs: first.ackedMs }
}

function letInMs(writer: Writer, { host, beganMs }: Acknowledged, atMs: number): number {
  return (writer.letInSince(atMs, host) ?? beganMs) - atMs
}

/** The wall clock at a monotonic time, in whole milliseconds as recoveries have it. */
function wallAt(atMs: number): number {
  return Math.floor(Date.now() - (monotonicMs() - atMs))
}

/** The newest recovery that began at or after this wall clock time, once it has ended. */
export function recoverySince(cluster: TestCluster, wallMs: number): Promise<Recovery> {
  return cluster.until('a recovery that ended', async () => {
    const [newest] = await cluster.recoveries()
    return newest !== undefined && newest.startedWallMs >= wallMs && newest.outcome !== 'running' && newest
  })
}
