import type { BigIntStats, PathLike, StatOptions, Stats } from 'node:fs'
import { appendFile, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { markErrorLog, readErrorLog } from './error-log.ts'

/** As file systems of a network number their files: two neighbours are the same number of JavaScript. */
const beyond = 2n ** 63n

/** The numbers of files of this machine, moved to where those of a network are. */
function moved<Found extends Stats | BigIntStats>(found: Found): Found {
  const ino = BigInt(found.ino) + beyond
  return Object.assign(found, { ino: typeof found.ino === 'bigint' ? ino : Number(ino) })
}

vi.mock('node:fs/promises', async (importOriginal) => {
  const real = await importOriginal<typeof import('node:fs/promises')>()
  return {
    ...real,
    stat: async (path: PathLike, options?: StatOptions) => moved(await real.stat(path, options)),
    open: async (...asked: Parameters<typeof real.open>) => {
      const file = await real.open(...asked)
      const ofFile = file.stat.bind(file) as (options?: StatOptions) => Promise<Stats | BigIntStats>
      return Object.assign(file, { stat: async (options?: StatOptions) => moved(await ofFile(options)) })
    },
  }
})

async function aLog() {
  const dataDir = await mkdtemp(join(tmpdir(), 'regent-inodes-'))
  onTestFinished(() => rm(dataDir, { recursive: true }))
  const place = { dataDir, errorLog: join(dataDir, 'error.log'), errorLogMark: join(dataDir, 'mark') }
  await writeFile(place.errorLog, '')
  await markErrorLog(place)
  return place
}

it('An error log whose file has a number above 2⁵³ tells how its server ended', async () => {
  const place = await aLog()
  await appendFile(place.errorLog, '[MY-010116] starting\n[MY-013172] Received SHUTDOWN\n')
  expect(await readErrorLog(place)).toMatchObject({
    kind: 'read',
    seen: new Set(['starting', 'receivedShutdown']),
  })
})

it('Another file in its place, with a number beside, is another log', async () => {
  const place = await aLog()
  await writeFile(join(place.dataDir, 'other'), '[MY-010116] starting\n')
  await rename(join(place.dataDir, 'other'), place.errorLog)
  expect(await readErrorLog(place)).toMatchObject({ kind: 'missing' })
})

it('A note of an earlier agent, which wrote a number, is understood', async () => {
  const place = await aLog()
  const { readFile } = await import('node:fs/promises')
  const mark = JSON.parse(await readFile(place.errorLogMark, 'utf8')) as { readonly inode: string }
  await writeFile(place.errorLogMark, JSON.stringify({ ...mark, inode: 17 }))
  expect(await readErrorLog(place)).toMatchObject({
    kind: 'missing',
    why: expect.stringContaining('rotated or cut') as string,
  })
})
