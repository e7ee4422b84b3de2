import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { codeOf } from '#common/errors/errors.ts'
import { MemoryDisk } from '../testing.ts'
import { freshState, newIncarnation, notedNow, StoredStateFile, summaryOf } from './stored-state.ts'

const path = '/volume/agent/state'
const open = (disk: MemoryDisk) => StoredStateFile.open(disk, path, () => freshState('v1', 'boot-1'))

describe('the agent’s stored state', () => {
  it('keeps a promise that is written while something else changes', async () => {
    const disk = new MemoryDisk()
    const file = await open(disk)
    await file.update({ promise: 5, unsettled: true })
    await Promise.all([
      file.update({ unsettled: false }),
      file.update({ promise: 6, revision: 9 }),
      file.update({ mayHaveTail: true }),
    ])
    expect(file.current).toMatchObject({ promise: 6, revision: 9, unsettled: false, mayHaveTail: true })
    expect((await open(disk)).current).toEqual(file.current)
  })

  it('refuses to take a promise or a revision back, also behind a write under way', async () => {
    const file = await open(new MemoryDisk())
    const newer = file.update({ promise: 7, revision: 3 })
    const older = file.update({ promise: 6 }).catch(codeOf)
    await newer
    expect(await older).toBe('REGENT_STALE_ORDER')
    expect(await file.update({ revision: 2 }).catch(codeOf)).toBe('REGENT_STALE_ORDER')
    expect(file.current).toMatchObject({ promise: 7, revision: 3 })
  })

  it('goes on from the last sound copy when the agent died in the middle of a write', async () => {
    const disk = new MemoryDisk()
    const file = await open(disk)
    await file.update({ promise: 2 })
    disk.tearNextWrite()
    await expect(file.update({ promise: 3 })).rejects.toThrow('died')
    expect((await open(disk)).current.promise).toBe(2)
  })

  it('says so when both copies are damaged, and promises nothing', async () => {
    const disk = new MemoryDisk()
    await (await open(disk)).update({ promise: 2 })
    disk.damage(path)
    expect(await open(disk).catch(codeOf)).toBe('REGENT_STORED_STATE_CORRUPT')
  })
})

/** Promised epochs 2, 3 and 4, one after the other; the last write went to the first of two slots. */
async function writtenDisk(): Promise<{ disk: MemoryDisk; bytes: Uint8Array; before: Uint8Array }> {
  const disk = new MemoryDisk()
  const file = await open(disk)
  await file.update({ promise: 2 })
  await file.update({ promise: 3 })
  const before = await bytesOf(disk)
  await file.update({ promise: 4 })
  return { disk, bytes: await bytesOf(disk), before }
}

async function bytesOf(disk: MemoryDisk): Promise<Uint8Array> {
  const bytes = await disk.read(path)
  if (bytes === undefined) throw new Error('nothing was written')
  return bytes
}

async function diskWith(bytes: Uint8Array): Promise<MemoryDisk> {
  const disk = new MemoryDisk()
  await disk.allocate(path, bytes.length)
  await disk.writeAt(path, 0, bytes)
  return disk
}

const slotBytes = 65_536
const headerBytes = 52

/** The bytes of a slot that are in use: header and payload. */
function usedBytes(bytes: Uint8Array, slot: number): number {
  return headerBytes + Buffer.from(bytes).readUInt32LE(slot * slotBytes + 16)
}

describe('two copies of the stored state', () => {
  it('are written in turn, so that the one before stays whole', async () => {
    const { bytes, before } = await writtenDisk()
    expect(bytes.subarray(slotBytes)).toEqual(before.subarray(slotBytes))
    expect(bytes.subarray(0, slotBytes)).not.toEqual(before.subarray(0, slotBytes))
    expect(bytes.length).toBe(2 * slotBytes)
  })

  it('give the state before when the last write is torn, at whichever byte', async () => {
    const { bytes, before } = await writtenDisk()
    const used = usedBytes(bytes, 0)
    const wrong: number[] = []
    for (let written = 0; written < used; written += 1) {
      const torn = before.slice()
      torn.set(bytes.subarray(0, written), 0)
      // The end of what was there before may happen to be the same.
      const isWhole = Buffer.from(torn).equals(bytes)
      const { promise } = (await open(await diskWith(torn))).current
      if (promise !== (isWhole ? 4 : 3)) wrong.push(written)
    }
    expect(wrong).toEqual([])
    expect((await open(await diskWith(bytes))).current.promise).toBe(4)
  })

  it('go on after a torn write with a newer one', async () => {
    const { bytes, before } = await writtenDisk()
    const torn = before.slice()
    torn.set(bytes.subarray(0, 100), 0)
    const disk = await diskWith(torn)
    await (await open(disk)).update({ promise: 5 })
    expect((await open(disk)).current.promise).toBe(5)
  })

  it('are not believed when any single byte of them is another one', async () => {
    const { bytes } = await writtenDisk()
    const believed: number[] = []
    for (let at = 0; at < usedBytes(bytes, 0); at += 1) {
      const damaged = bytes.slice()
      damaged[at] = (damaged[at] ?? 0) ^ 0x41
      const { promise } = (await open(await diskWith(damaged))).current
      // The version of a slot (bytes 4 to 7) is for people; the state's own version counts.
      if (promise !== 3 && (at < 4 || at >= 8)) believed.push(at)
    }
    expect(believed).toEqual([])
  })

  it('may be missing while nothing was promised: the first write was torn', async () => {
    const disk = new MemoryDisk()
    await open(disk)
    const bytes = await bytesOf(disk)
    for (const written of [0, 1, 51, 52, 100]) {
      const torn = new Uint8Array(2 * slotBytes)
      torn.set(bytes.subarray(slotBytes, slotBytes + written), slotBytes)
      expect((await open(await diskWith(torn))).current).toMatchObject({ promise: 0, assignment: null })
    }
  })

  it('are never begun anew where one of them was damaged after a promise', async () => {
    const { bytes } = await writtenDisk()
    const damaged = bytes.slice()
    damaged[headerBytes + 3] = 0
    damaged[slotBytes + headerBytes + 3] = 0
    expect(await open(await diskWith(damaged)).catch(codeOf)).toBe('REGENT_STORED_STATE_CORRUPT')
    expect(await open(await diskWith(bytes.slice(0, 100))).catch(codeOf)).toBe('REGENT_STORED_STATE_CORRUPT')
  })

  it('of a newer version are refused, not guessed at', async () => {
    const disk = new MemoryDisk()
    await (await StoredStateFile.open(disk, path, () => freshState('v1', 'boot-1'))).update({ promise: 2 })
    const text = Buffer.from(await bytesOf(disk))
    const state = JSON.parse(text.toString('utf8', headerBytes, usedBytes(text, 0))) as object
    expect(await open(await diskWith(withNewest(text, { ...state, version: 2 }))).catch(codeOf)).toBe(
      'REGENT_NEWER_VERSION',
    )
  })

  it('refuse a state that does not fit, and keep the one before', async () => {
    const disk = new MemoryDisk()
    const file = await open(disk)
    expect(await file.update({ promise: 2, incarnation: 'x'.repeat(slotBytes) }).catch(codeOf)).toBe('REGENT_INTERNAL')
    expect(file.current.promise).toBe(0)
    await file.update({ promise: 1 })
    expect((await open(disk)).current.promise).toBe(1)
  })
})

/** The same file with another state in the newest slot, soundly written: as a later version would. */
function withNewest(bytes: Buffer, state: object): Uint8Array {
  const changed = Buffer.from(bytes)
  const payload = Buffer.from(JSON.stringify(state))
  changed.writeUInt32LE(payload.length, 16)
  payload.copy(changed, headerBytes)
  createHash('sha256')
    .update(String(changed.readBigUInt64LE(8)))
    .update(payload)
    .digest()
    .copy(changed, 20)
  return changed
}

it('Each start and each newer promise makes another incarnation, and the last 32 before it are kept', async () => {
  const file = await open(new MemoryDisk())
  await file.update(newIncarnation(file.current, 'run-0'))
  await file.update({ promise: 1 })
  const [promisedOne] = [file.current.incarnation]
  expect(promisedOne).not.toBe('run-0')
  expect(file.current.earlierIncarnations).toEqual(['run-0'])
  await file.update({ promise: 1, revision: 4 })
  expect(file.current.incarnation).toBe(promisedOne)
  for (let start = 1; start <= 40; start += 1) await file.update(newIncarnation(file.current, `run-${start}`))
  expect(file.current.incarnation).toBe('run-40')
  expect(file.current.earlierIncarnations).toHaveLength(32)
  expect(file.current.earlierIncarnations[0]).toBe('run-39')
})

it('However many starts follow that no manager notes, they lead back to the last start that one has noted, and to all that it promised', async () => {
  const file = await open(new MemoryDisk())
  await file.update(newIncarnation(file.current, 'noted'))
  await file.update(notedNow(file.current, 'noted'))
  await file.update({ promise: 1 })
  const promised = file.current.incarnation
  for (let start = 1; start <= 200; start += 1) await file.update(newIncarnation(file.current, `run-${start}`))
  expect(file.current.earlierIncarnations).toHaveLength(32)
  expect(file.current.earlierIncarnations).toEqual(expect.arrayContaining(['run-199', 'run-171', promised, 'noted']))
  expect(summaryOf(file.current).toldNoted).toBe(false)
})

it('A start that has promised before a manager’s assignment came is noted by whichever of its incarnations the manager saw', async () => {
  const file = await open(new MemoryDisk())
  await file.update(newIncarnation(file.current, 'before'))
  await file.update(newIncarnation(file.current, 'start'))
  await file.update({ promise: 1 })
  await file.update({ promise: 2, ...notedNow(file.current, 'start') })
  expect(file.current.notedIncarnations).toEqual([
    file.current.incarnation,
    file.current.earlierIncarnations[0],
    'start',
  ])
  expect(summaryOf(file.current).toldNoted).toBe(true)
})
