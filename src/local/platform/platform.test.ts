import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readCluster, writeCluster } from '../folder/cluster-file.ts'
import { serveControl } from '../supervisor/control.ts'
import { localPlatform, type LocalPlatform } from './platform.ts'
import type { CommittedEpoch } from './routes.ts'
import { composeSpec, writeSpec } from '../folder/spec-file.ts'
import { agentConfigPath, layoutOf } from '../folder/state-layout.ts'
import { clusterIn, temporaryFolder } from '../testing.ts'
import { readJson } from '../files/input-file.ts'
import { say } from '#common/sentence/sentence.ts'

async function platformOf(committedEpoch?: CommittedEpoch): Promise<{ dir: string; platform: LocalPlatform }> {
  const dir = await temporaryFolder()
  await mkdir(layoutOf(dir).run)
  await writeCluster(dir, clusterIn(dir))
  await writeSpec(layoutOf(dir), await composeSpec('shop', undefined, {}))
  const platform = localPlatform(dir, committedEpoch)
  onTestFinished(() => platform.close())
  return { dir, platform }
}

const route = (epoch: number, ordinal: number) => ({
  epoch,
  instance: `shop-${ordinal}`,
  host: `127.24.198.${ordinal + 1}`,
  port: 3306,
})

describe('this machine as a platform', () => {
  test('gives instances with the addresses of MySQL and agent', async () => {
    const { platform } = await platformOf()
    expect((await platform.instances())[1]).toEqual({
      name: 'shop-1',
      host: '127.24.198.2',
      port: 3306,
      agent: '127.24.198.2:9400',
    })
  })

  test('publishes the primary, again without harm, and refuses an older epoch', async () => {
    const { platform } = await platformOf()
    expect(await platform.publishedPrimary()).toBeUndefined()
    expect(await platform.publishPrimary(route(2, 1))).toBe(true)
    expect(await platform.publishPrimary(route(2, 1))).toBe(true)
    expect(await platform.publishPrimary(route(1, 0))).toBe(false)
    expect(await platform.publishedPrimary()).toEqual(route(2, 1))
  })

  test('keeps the newest of calls that are made at once', async () => {
    const { platform } = await platformOf()
    const answers = await Promise.all([platform.publishPrimary(route(3, 2)), platform.publishPrimary(route(2, 1))])
    expect(answers).toEqual([true, false])
    expect(await platform.publishedPrimary()).toEqual(route(3, 2))
  })

  const byHand: Readonly<Record<string, readonly [text: string | undefined, sentence: RegExp]>> = {
    'was removed': [
      undefined,
      /routes\.json was removed by another hand; it was written again: shop-1 at 127\.24\.198\.2:3306, epoch 2$/,
    ],
    'is no JSON any more': ['{"version": 1, "prim', /routes\.json was damaged by another hand; it was written again/],
    'is empty': ['', /was damaged by another hand/],
    'has another shape': ['{"version":1,"primary":{"epoch":"two"}}', /was damaged by another hand/],
    'is of a version to come': ['{"version":7,"primary":{}}', /was damaged by another hand/],
    'names another address': [
      JSON.stringify({ version: 1, primary: { ...route(2, 1), host: '10.9.9.9' } }),
      /was changed by another hand: it said shop-1 at 10\.9\.9\.9:3306, epoch 2; it was written again/,
    ],
    'names an epoch that no record has': [
      JSON.stringify({ version: 1, primary: route(999, 0) }),
      /was changed by another hand: it said shop-0 at 127\.24\.198\.1:3306, epoch 999/,
    ],
  }
  test.each(Object.entries(byHand))(
    'tells of a published address that %s, and writes it again',
    async (_, [text, sentence]) => {
      const { dir, platform } = await platformOf(async () => 2)
      const path = layoutOf(dir).routes
      const told: string[] = []
      const found = Promise.withResolvers<void>()
      platform.onMeddling({ found: found.resolve, mended: (words) => told.push(words) })
      await platform.publishPrimary(route(2, 1))
      const right = await readFile(path, 'utf8')
      if (text === undefined) await rm(path)
      else await writeFile(path, text)
      await found.promise
      expect(await platform.publishedPrimary()).not.toEqual(route(2, 1))
      expect(await platform.publishPrimary(route(2, 1))).toBe(true)
      expect(await readFile(path, 'utf8')).toBe(right)
      expect(told).toEqual([expect.stringMatching(sentence)])
    },
  )

  test('tells a manager that began anew, and found the address right, of what another hand does later', async () => {
    const { dir, platform } = await platformOf(async () => 2)
    await platform.publishPrimary(route(2, 1))
    const next = localPlatform(dir, async () => 2)
    onTestFinished(() => next.close())
    const found = Promise.withResolvers<void>()
    const told: string[] = []
    next.onMeddling({ found: found.resolve, mended: (words) => told.push(words) })
    expect(await next.publishedPrimary()).toEqual(route(2, 1))
    await rm(layoutOf(dir).routes)
    await found.promise
    expect(await next.publishPrimary(route(2, 1))).toBe(true)
    expect(told).toEqual([expect.stringMatching(/was removed by another hand/)])
  })

  test('believes a newer epoch that the record has, and tells nothing of an ordinary move', async () => {
    let committed = 1
    const { dir, platform } = await platformOf(async () => committed)
    const told: string[] = []
    platform.onMeddling({ found: () => undefined, mended: (words) => told.push(words) })
    await platform.publishPrimary(route(1, 0))
    committed = 5
    const other = localPlatform(dir, async () => committed)
    await other.publishPrimary(route(5, 2))
    other.close()
    expect(await platform.publishPrimary(route(1, 0))).toBe(false)
    expect(await platform.publishedPrimary()).toEqual(route(5, 2))
    expect(await platform.publishPrimary(route(6, 1))).toBe(true)
    expect(told).toEqual([])
  })

  test('scales by writing the instances with their agents’ configuration and telling the supervisor, and calls the change', async () => {
    const { dir, platform } = await platformOf()
    const asked: string[] = []
    const server = await serveControl(layoutOf(dir).control, async (request) => void asked.push(request.command))
    onTestFinished(() => void server.close())
    const changed = new Promise<void>((resolve) => platform.onChange(resolve))
    await platform.scaleTo(4)
    await changed
    expect(asked).toEqual(['reload'])
    expect((await readCluster(dir)).instances.map((one) => one.name)).toEqual(['shop-0', 'shop-1', 'shop-2', 'shop-3'])
    expect(await readJson(agentConfigPath(layoutOf(dir), 'shop-3'), say`it`)).toMatchObject({
      instance: 'shop-3',
      host: '127.24.198.4',
    })
  })

  test('makes an instance anew on what is left of its volume: its configuration and its archives', async () => {
    const { dir, platform } = await platformOf()
    const asked: string[] = []
    const server = await serveControl(layoutOf(dir).control, async ({ command, process }) => {
      asked.push(`${command} ${process}`)
    })
    onTestFinished(() => void server.close())
    const { instances } = await readCluster(dir)
    const volume = instances[2]?.volume ?? ''
    for (const name of ['data', 'agent', 'archive', 'run']) await mkdir(join(volume, name), { recursive: true })
    await writeFile(join(volume, 'agent.json'), '{}')
    await platform.replace?.('shop-2', true)
    expect((await readdir(volume)).toSorted()).toEqual(['agent.json', 'archive'])
    expect(asked).toEqual(['start shop-2'])
    await expect(platform.replace?.('shop-7', true)).rejects.toMatchObject({ code: 'REGENT_NOT_FOUND' })
  })

  test('says that nothing can be started where no supervisor runs, and refuses a number that is not from 1 to 16', async () => {
    const { platform } = await platformOf()
    await expect(platform.scaleTo(4)).rejects.toThrow(/no supervisor runs for cluster shop/)
    for (const count of [0, 17, 1.5, NaN])
      await expect(platform.scaleTo(count)).rejects.toMatchObject({ code: 'REGENT_BAD_REQUEST' })
  })
})
