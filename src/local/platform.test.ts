import { mkdir } from 'node:fs/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readCluster, writeCluster } from './cluster-file.ts'
import { serveControl } from './control.ts'
import { localPlatform, type LocalPlatform } from './platform.ts'
import { composeSpec, writeSpec } from './spec-file.ts'
import { agentConfigPath, layoutOf } from './state-layout.ts'
import { clusterIn, temporaryFolder } from './testing.ts'
import { readJson } from './input-file.ts'

async function platformOf(): Promise<{ dir: string; platform: LocalPlatform }> {
  const dir = await temporaryFolder()
  await mkdir(layoutOf(dir).run)
  await writeCluster(dir, clusterIn(dir))
  await writeSpec(layoutOf(dir), await composeSpec('shop', undefined, {}))
  const platform = localPlatform(dir)
  onTestFinished(() => platform.close())
  return { dir, platform }
}

const route = (epoch: number, ordinal: number) => ({ epoch, instance: `shop-${ordinal}`, host: `127.24.198.${ordinal + 1}`, port: 3306 })

describe('this machine as a platform', () => {
  test('gives instances with the addresses of MySQL and agent', async () => {
    const { platform } = await platformOf()
    expect((await platform.instances())[1]).toEqual({ name: 'shop-1', host: '127.24.198.2', port: 3306, agent: '127.24.198.2:9400' })
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
    expect(await readJson(agentConfigPath(layoutOf(dir), 'shop-3'), 'it')).toMatchObject({ instance: 'shop-3', host: '127.24.198.4' })
  })

  test('says that nothing can be started where no supervisor runs, and refuses a number that is not from 1 to 16', async () => {
    const { platform } = await platformOf()
    await expect(platform.scaleTo(4)).rejects.toThrow(/no supervisor runs for cluster shop/)
    for (const count of [0, 17, 1.5, NaN]) await expect(platform.scaleTo(count)).rejects.toMatchObject({ code: 'REGENT_BAD_REQUEST' })
  })
})
