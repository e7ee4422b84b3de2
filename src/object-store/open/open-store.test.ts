import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { contentOf, inChunks } from '../contract.ts'
import { openStore } from './open-store.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-open-store-'))
})

afterEach(() => rm(folder, { recursive: true }))

describe('A store of backups', () => {
  it('is opened at its address, with a limit for puts', async () => {
    const store = await openStore(`file://${folder}`, { bytesPerSecond: 1_000_000 })
    const beganMs = performance.now()
    await store.put('a', inChunks(Buffer.alloc(300_000), 100_000))
    // The third piece goes when the two before are through.
    expect(performance.now() - beganMs).toBeGreaterThan(190)
    expect(await contentOf(store, 'a')).toEqual(Buffer.alloc(300_000))
    expect(store.address).toBe(folder)
    store.close()
  })

  it.each([
    [{ bytesPerSecond: 0 }, /takes 0 bytes in a second as its limit; it must be 1024 or more/],
    [{ bytesPerSecond: NaN }, /takes NaN bytes in a second/],
    [{ s3: {} }, /Options of S3 are given for a store of backups that is a folder/],
  ])('is refused with %j for a folder', async (options, reason) => {
    await expect(openStore(folder, options)).rejects.toThrow(reason)
  })

  it('in a bucket is refused where its options cannot work, before anything is asked', async () => {
    await expect(openStore('s3://backups', { s3: { endpoint: 'https://minio/x' } })).rejects.toThrow('it has a path')
  })

  it('in a folder does not load the client of S3, which is large', async () => {
    const module = JSON.stringify(join(import.meta.dirname, 'open-store.ts'))
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--input-type=module',
      '--eval',
      `import { registerHooks } from 'node:module'
       let loaded = 0
       registerHooks({ load: (url, context, next) => { loaded += url.includes('@aws-sdk') ? 1 : 0; return next(url, context) } })
       const { openStore } = await import(${module})
       await openStore(${JSON.stringify(folder)})
       console.log(loaded === 0)
       await openStore('s3://backups')
       console.log(loaded > 0)`,
    ])
    expect(stdout.trim().split('\n')).toEqual(['true', 'true'])
  })
})
