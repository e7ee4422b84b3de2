import { setTimeout as sleep } from 'node:timers/promises'
import { paintFor } from '#cli/terminal/paint.ts'
import { lastingMs, type TestCluster } from '../support/cluster.ts'
import { recoverySince, runEpisode, type Event } from '../support/episode.ts'
import { monotonicMs } from '../support/monotonic.ts'
import type { Writer } from '../support/writer.ts'
import { report, thousands, type Told } from './picture.ts'
import type { Screen } from './screen.ts'

export interface Stage {
  readonly screen: Screen
  readonly cluster: TestCluster
  readonly writer: Writer
}

interface Act {
  readonly event: Event
  readonly title: string
  /** What a person would type; `<primary>` stands for the primary's name. */
  readonly command: string
}

/** Makes it happen, waits until the cluster is whole again, and prints how it went. */
export async function runAct({ screen, cluster, writer }: Stage, { event, title, command }: Act): Promise<void> {
  announce(screen, title, command.replace('<primary>', await cluster.primary()))
  tell(screen, await runEpisode(cluster, writer, event))
  await sleep(500)
}

/** Takes away the instance with the highest ordinal, which is the primary: it hands over first. */
export async function handOverAndScaleIn({ screen, cluster, writer }: Stage): Promise<void> {
  if ((await cluster.primary()) !== 'demo-2') await cluster.switchover({ to: 'demo-2' })
  await cluster.whole(3)
  announce(screen, 'scale in, with the primary among those that leave', 'regent local scale demo 2')
  const wallMs = Date.now()
  const atMs = monotonicMs()
  await cluster.scale(2)
  const recovery = await recoverySince(cluster, wallMs)
  await cluster.whole(2)
  const { pauseMs } = writer.longestPause(atMs)
  tell(screen, {
    from: 'demo-2',
    to: await cluster.primary(),
    outageMs: pauseMs,
    recovery,
    wholeMs: monotonicMs() - lastingMs - atMs,
  })
}

/** Looks for every write that was acknowledged, on every server. True when all are there, once. */
export async function checkWrites({ screen, writer }: Pick<Stage, 'screen' | 'writer'>): Promise<boolean> {
  announce(screen, 'every acknowledged write, one by one')
  const { acknowledged, lost, duplicated, differing, instances } = await writer.check()
  const paint = paintFor(screen.colour)
  const fine = lost.length === 0 && duplicated.length === 0 && differing.length === 0
  const words = `lost ${lost.length}, duplicated ${duplicated.length}`
  screen.print(
    `    ${thousands(acknowledged)} writes acknowledged, read back on ${instances} servers: ${paint.bold(fine ? paint.green(words) : paint.red(words))}`,
  )
  for (const name of differing) screen.print(paint.red(`    ${name} has other rows than the primary`))
  return fine
}

export function announce(screen: Screen, title: string, command?: string): void {
  const paint = paintFor(screen.colour)
  screen.print(paint.bold(`── ${title}`), ...(command === undefined ? [] : [paint.dim(`    $ ${command}`)]))
}

export function tell(screen: Screen, episode: Told): void {
  screen.print(...report(episode, screen.colour, process.stdout.isTTY ? process.stdout.columns : 120))
}
