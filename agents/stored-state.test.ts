import { describe, expect, it } from 'vitest'
import { codeOf } from '../src/common/errors.ts'
import { MemoryDisk } from './testing.ts'
import { freshState, StoredStateFile } from './stored-state.ts'

const path = '/volume/agent/state'
const open = (disk: MemoryDisk) => StoredStateFile.open(disk, path, () => freshState('v1', 'boot-1'))

describe('the agent’s stored state', () => {
  it('keeps a promise that is written while something else changes', async () => {
    const disk = new MemoryDisk()
    const file = await open(disk)
    await file.update({ promise: 5, unsettled: true })
    await Promise.all([file.update({ unsettled: false }), file.update({ promise: 6, revision: 9 }), file.update({ mayHaveTail: true })])
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
