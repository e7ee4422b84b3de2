import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { expect, it } from 'vitest'
import { readProcessStat } from '#common/process/process-stat.ts'
import { layoutOf, routerStatePath } from '#local/folder/state-layout.ts'
import { temporaryFolder } from '#local/testing.ts'
import { localRouter } from './local-router.ts'

const cluster = { number: 4, router: { haproxy: ['haproxy'], settings: {} } }

it('The router of a local cluster is shown with its address, and with what it said last', async () => {
  const layout = layoutOf(await temporaryFolder())
  expect(localRouter(layout, cluster)).toMatchObject({ host: '127.24.4.100', writePort: 3306, readPort: 3307 })
  expect(localRouter(layout, cluster)?.sentence).toBe('the router has not said yet where it leads')
  await mkdir(dirname(routerStatePath(layout)), { recursive: true })
  const { startTicks = 0 } = readProcessStat(process.pid) ?? {}
  const said = (ticks: number) =>
    writeFile(
      routerStatePath(layout),
      JSON.stringify({ sentence: 'writes go on', process: { pid: process.pid, startTicks: ticks } }),
    )
  await said(startTicks)
  expect(localRouter(layout, cluster)?.sentence).toBe('writes go on')
  await said(startTicks + 1)
  expect(localRouter(layout, cluster)?.sentence, 'nobody leads now').toBe(
    'the router does not run; its last word: writes go on',
  )
  await writeFile(routerStatePath(layout), '{"sentence":"writes go on"}')
  expect(localRouter(layout, cluster)?.sentence, 'of an older version').toBe('writes go on')
  await writeFile(routerStatePath(layout), '{"sentence":7}')
  expect(localRouter(layout, cluster)?.sentence).toBe('the router says nothing that is understood')
  expect(localRouter(layout, { number: 4 })).toBeUndefined()
})
