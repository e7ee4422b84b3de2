import { setTimeout as sleep } from 'node:timers/promises'
import { runRegent, type TestCluster } from '../../support/cluster.ts'
import type { Dice } from '../dice.ts'
import type { Stage } from './stage.ts'

export interface Beside {
  readonly cluster: TestCluster
  readonly stage: Stage
  readonly dice: Dice
}

const backupDeadlineMs = 300_000

/** What befalls backups while a round is played: each resolves to a few words of what came of that. */
export async function besideARound({ cluster, stage, dice }: Beside): Promise<readonly string[]> {
  const works: Promise<string>[] = []
  if (dice.share() < 0.6) works.push(backUp(cluster))
  if (dice.share() < 0.4) works.push(storeAway(stage, dice.between(1_000, 15_000), dice.share() < 0.5))
  return Promise.all(works)
}

/** A backup that a fault ended is no fault of Regent: nothing of that backup may look whole. */
export async function backUp(cluster: TestCluster): Promise<string> {
  const { code, stderr } = await runRegent(cluster.home, ['backup', 'now', cluster.name], {
    deadlineMs: backupDeadlineMs,
  })
  return code === 0 ? 'a backup was made' : `no backup: ${stderr.trim().replaceAll(/\s+/g, ' ').slice(-300)}`
}

/** Dead, or there and silent. A folder is never away: what was written to it instead would be in the way. */
async function storeAway({ s3 }: Stage, forMs: number, dies: boolean): Promise<string> {
  if (s3 === undefined) return 'the store stayed: it is a folder'
  if (dies) await s3.die()
  else s3.signal('SIGSTOP')
  await sleep(forMs)
  if (dies) await s3.startAgain()
  else s3.signal('SIGCONT')
  return `the store was ${dies ? 'dead' : 'silent'} for ${forMs} ms`
}
