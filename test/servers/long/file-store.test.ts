import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { pause } from '#store/contract.ts'
import { fileStore } from '#store/file.ts'
import { SeededRandom } from '#test/simulation/seeded-random.ts'
import { seed } from '#test/support/draws.ts'

const hammer = join(import.meta.dirname, '../../support/store-hammer.ts')

const random = new SeededRandom(seed)
let folder: string
const lines: string[] = []
const running = new Set<ChildProcess>()
let started = 0

beforeEach(async () => {
  lines.length = 0
  started = 0
  folder = await mkdtemp(join(tmpdir(), 'regent-store-'))
})
afterEach(async () => {
  await Promise.all([...running].map(kill))
  await rm(folder, { recursive: true })
})

function start(): ChildProcess {
  const child = spawn(process.execPath, [hammer, folder, `m${started++}`], { stdio: ['ignore', 'pipe', 'inherit'] })
  let rest = ''
  child.stdout.on('data', (data: Buffer) => {
    const parts = (rest + data.toString()).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts)
  })
  running.add(child)
  return child
}

/** SIGKILL; resolves when everything it printed was read. */
async function kill(child: ChildProcess): Promise<void> {
  const closed = once(child, 'close')
  running.delete(child)
  child.kill('SIGCONT')
  child.kill('SIGKILL')
  await closed
}

async function disturb(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined) return
  if (random.chance(0.4)) {
    child.kill('SIGSTOP')
    await pause(random.between(0, 60))
    child.kill('SIGCONT')
  } else {
    await kill(child)
    start()
  }
}

/** SIGSTOP; resolves when no thread of it runs any more. */
async function freeze(child: ChildProcess): Promise<void> {
  child.kill('SIGSTOP')
  while (!(await readFile(`/proc/${child.pid}/stat`, 'utf8')).includes(') T ')) await pause(2)
}

const printed = (word: string) => lines.filter((line) => line.startsWith(word)).map((line) => line.split(' '))

function wins() {
  return printed('won').map(([, revision, by]) => ({ revision: Number(revision), by }))
}

/**
 * Who signed each revision, from all who read it; they must agree, and no change may have gone into it that was lost
 * since.
 */
function sightings(): ReadonlyMap<number, string | undefined> {
  const seen = new Map<number, string | undefined>()
  for (const [, revision, epoch, by] of printed('saw')) {
    expect(epoch).toBe(revision)
    expect(seen.get(Number(revision)) ?? by).toBe(by)
    seen.set(Number(revision), by)
  }
  return seen
}

describe('The file store', () => {
  it('gives each revision to one of several managers and loses none, while they are killed and frozen at any moment', async () => {
    for (let managers = 0; managers < 3; managers++) start()
    while (printed('won').length < 80) {
      const before = printed('won').length
      await pause(random.between(20, 100))
      // However slow the machine is, somebody gets something done between two disturbances.
      while (printed('won').length === before) await pause(5)
      await disturb(random.pick([...running]))
    }
    await Promise.all([...running].map(kill))

    const won = wins()
    const seen = sightings()
    expect(new Set(won.map(({ revision }) => revision)).size).toBe(won.length)
    expect(won.filter(({ revision, by }) => seen.has(revision) && seen.get(revision) !== by)).toEqual([])
    const last = await fileStore(folder).readRecord('shop')
    if (last === undefined) throw new Error('the record is gone')
    expect(last.epoch).toBe(last.revision)
    expect(last.revision).toBeGreaterThanOrEqual(Math.max(...won.map(({ revision }) => revision)))
    // A change whose author died between the swap and the word about it is there without having been reported.
    expect(last.revision - won.length).toBeLessThanOrEqual(started)

    const noted = Number((await fileStore(folder).readNotes('shop')).incarnations['shop-0@a0']?.[0])
    expect(noted).toBeGreaterThanOrEqual(printed('noted').length)
    expect(noted - printed('noted').length).toBeLessThanOrEqual(started)
  })

  it('has no more files after many managers died in it than it needs', async () => {
    for (let round = 0; round < 4; round++) {
      const child = start()
      const before = printed('won').length
      while (printed('won').length === before) await pause(5)
      await kill(child)
    }
    const store = fileStore(folder)
    for (let change = 0; change < 2; change++) {
      const record = await store.readRecord('shop')
      if (record === undefined) throw new Error('there must be a record')
      expect(await store.compareAndSwap('shop', record.revision, { ...record, revision: record.revision + 1 })).toBe(
        true,
      )
    }
    expect(await readdir(join(folder, 'record.shop'))).toHaveLength(2)
  })

  it('goes on while a manager is frozen in the middle of whatever it did', async () => {
    const frozen = start()
    while (printed('won').length === 0) await pause(5)
    await freeze(frozen)
    const store = fileStore(folder)
    for (let change = 0; change < 20; change++) {
      const record = await store.readRecord('shop')
      if (record === undefined) throw new Error('there must be a record')
      expect(await store.compareAndSwap('shop', record.revision, { ...record, revision: record.revision + 1 })).toBe(
        true,
      )
    }
  })
})
