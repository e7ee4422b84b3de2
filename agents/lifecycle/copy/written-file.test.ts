import { setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { WrittenFile } from './written-file.ts'

/** A disk of which a sync ends when a test says so; it takes three bytes at a time. */
function aDisk() {
  const [calls, syncs] = [[] as string[], [] as PromiseWithResolvers<void>[]]
  const written: number[] = []
  const disk = {
    write: async (chunk: Uint8Array, at: number, length: number) => {
      written.push(...chunk.subarray(at, at + Math.min(3, length)))
      return { bytesWritten: Math.min(3, length), buffer: chunk }
    },
    datasync: () => {
      calls.push(`datasync at ${written.length}`)
      const sync = Promise.withResolvers<void>()
      syncs.push(sync)
      return sync.promise
    },
    sync: async () => void calls.push(`sync at ${written.length}`),
    close: async () => void calls.push('close'),
  }
  return { file: new WrittenFile(disk, 10), calls, syncs, written }
}

it('What is written is synced while more comes, once at a time, and all of it at the end', async () => {
  const { file, calls, syncs, written } = aDisk()
  for (let each = 0; each < 8; each += 1) await file.write(Buffer.alloc(5, each))
  expect([calls, written.length]).toEqual([['datasync at 10'], 40])
  syncs[0]?.resolve()
  await turn()
  await file.write(Buffer.alloc(5, 8))
  expect(calls).toEqual(['datasync at 10', 'datasync at 45'])
  const end = file.sync().then(() => file.close())
  await turn()
  expect(calls).toHaveLength(2)
  syncs[1]?.resolve()
  await end
  expect(calls.slice(2)).toEqual(['sync at 45', 'close'])
  expect(Buffer.from(written).equals(Buffer.concat([...Array(9).keys()].map((each) => Buffer.alloc(5, each))))).toBe(
    true,
  )
})

it.each(['write', 'sync'] as const)('A disk that fails behind the writer is told of by the next %s', async (next) => {
  const { file, calls, syncs } = aDisk()
  await file.write(Buffer.alloc(10))
  syncs[0]?.reject(new Error('the disk has an error'))
  await turn()
  await expect(next === 'write' ? file.write(Buffer.alloc(1)) : file.sync()).rejects.toThrow('the disk has an error')
  await file.close()
  expect(calls).toEqual(['datasync at 10', 'close'])
})

it('What was written so far is synced behind a sync that goes on, and the file is closed after that', async () => {
  const { file, calls, syncs } = aDisk()
  await file.write(Buffer.alloc(12))
  const soFar = file.syncSoFar()
  await file.write(Buffer.alloc(3))
  const closed = file.close()
  await turn()
  expect(calls).toEqual(['datasync at 12'])
  syncs[0]?.resolve()
  await turn()
  expect(calls).toEqual(['datasync at 12', 'datasync at 15'])
  let isClosed = false
  void closed.then(() => (isClosed = true))
  await turn()
  expect(isClosed).toBe(false)
  syncs[1]?.resolve()
  await Promise.all([soFar, closed])
  expect(calls.at(-1)).toBe('close')
})

it('A disk that fails to sync what was written so far says so at once', async () => {
  const { file, syncs } = aDisk()
  await file.write(Buffer.alloc(3))
  const soFar = file.syncSoFar()
  syncs[0]?.reject(new Error('the disk has an error'))
  await expect(soFar).rejects.toThrow('the disk has an error')
  await file.close()
})
