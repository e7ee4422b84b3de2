import { readFileSync } from 'node:fs'
import { archiveErrant } from '#agents/binlog/errant-archive.ts'
import { readBinlogSet } from '#agents/binlog/set.ts'
import { readTrimPlan } from '#agents/binlog/unacknowledged-tail.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'

/**
 * A process of its own, with an agent's options, that reads and archives a data folder again and again, and prints by
 * how many MB its memory grew at most.
 */
const [dataDir = '', archiveDir = ''] = process.argv.slice(2)
const rounds = 4

function residentMb(): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1024
}

const { set } = await readBinlogSet(dataDir)
const before = residentMb()
for (let round = 0; round < rounds; round += 1) {
  await readBinlogSet(dataDir)
  await readTrimPlan(dataDir, GtidSet.empty)
  await archiveErrant({ dataDir, archiveDir, instance: 'shop-0', gtids: set, wallMs: round })
}
console.log(JSON.stringify({ grownMb: residentMb() - before }))
