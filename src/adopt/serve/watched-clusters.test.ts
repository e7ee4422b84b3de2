import { expect, onTestFinished, test, vi } from 'vitest'
import { createLogger } from '#common/log/logger.ts'
import { fileWith, temporaryFolder } from '#local/testing.ts'
import { adoptedFolder, keepAdoption, prepareFolder } from '../adopted-folder.ts'
import { checkAdoption } from '../adoption.ts'
import { WatchedClusters } from './watched-clusters.ts'

/** A folder of adoptions with the one of `shop`, which has one host until another list is kept. */
async function adopted() {
  vi.stubEnv('REGENT_HOME', await temporaryFolder())
  onTestFinished(() => void vi.unstubAllEnvs())
  const folder = adoptedFolder()
  await prepareFolder(folder)
  const mysql = { user: 'regent', passwordFile: await fileWith('x') }
  const keep = async (hosts: readonly string[]) =>
    keepAdoption(folder, checkAdoption('it', { version: 1, cluster: 'shop', hosts, mysql }))
  await keep(['127.0.0.1:1'])
  return { folder, keep }
}

test('Two looks at the folder at once begin each cluster once: one too many would watch for ever', async () => {
  const { folder } = await adopted()
  const begun: string[] = []
  const store = {
    async readNotes(name: string) {
      begun.push(name)
      return {}
    },
    updateNotes: () => expect.fail('nothing is noted'),
  }
  const log = createLogger({ level: 'info', name: 'test', destination: { write: () => undefined } })
  const clusters = new WatchedClusters(folder, { log, store, wantsMore: () => false } as never)
  onTestFinished(() => clusters.stop())
  await Promise.all([clusters.follow(), clusters.follow()])
  expect(begun).toEqual(['shop'])
  expect(clusters.list).toHaveLength(1)
})

test('A cluster whose file changes is listed all the time: who recovers it finds it', async () => {
  const { folder, keep } = await adopted()
  const listed: number[] = []
  const store = {
    async readNotes() {
      listed.push(clusters.list.length)
      return {}
    },
    updateNotes: () => expect.fail('nothing is noted'),
  }
  const log = createLogger({ level: 'info', name: 'test', destination: { write: () => undefined } })
  const clusters: WatchedClusters = new WatchedClusters(folder, { log, store, wantsMore: () => false } as never)
  onTestFinished(() => clusters.stop())
  await clusters.follow()
  const told: string[] = []
  clusters.list[0]?.subscribe(({ type }) => told.push(type))
  await keep(['127.0.0.1:1', '127.0.0.1:2'])
  await clusters.follow()
  expect(told.at(-1), 'who watches it asks anew').toBe('gone')
  expect(listed).toEqual([0, 1])
  expect(clusters.list.map(({ adoption }) => adoption.hosts.length)).toEqual([2])
})

test('A cluster that could not be begun is tried again, and why is said once: nobody else would watch it', async () => {
  const { folder } = await adopted()
  let whyNot = 'no file is left to open'
  const store = {
    async readNotes() {
      if (whyNot !== '') throw new Error(whyNot)
      return {}
    },
    updateNotes: () => expect.fail('nothing is noted'),
  }
  const lines: string[] = []
  const log = createLogger({ level: 'error', name: 'test', destination: { write: (line) => void lines.push(line) } })
  const clusters = new WatchedClusters(folder, { log, store, wantsMore: () => false } as never)
  onTestFinished(() => clusters.stop())
  await clusters.follow()
  await clusters.follow()
  expect([clusters.list.length, lines.length]).toEqual([0, 1])
  whyNot = 'the disk is away'
  await clusters.follow()
  expect(lines).toHaveLength(2)
  whyNot = ''
  await clusters.follow()
  expect(clusters.list.map(({ adoption }) => adoption.cluster)).toEqual(['shop'])
})
