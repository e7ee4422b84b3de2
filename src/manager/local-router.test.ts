import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { expect, it } from 'vitest'
import { layoutOf, routerStatePath } from '#local/folder/state-layout.ts'
import { temporaryFolder } from '#local/testing.ts'
import { localRouter } from './local-router.ts'

const cluster = { number: 4, router: { haproxy: ['haproxy'], settings: {} } }

it('The router of a local cluster is shown with its address, and with what it said last', async () => {
  const layout = layoutOf(await temporaryFolder())
  expect(localRouter(layout, cluster)).toMatchObject({ host: '127.24.4.100', writePort: 3306, readPort: 3307 })
  expect(localRouter(layout, cluster)?.sentence).toBe('the router has not said yet where it leads')
  await mkdir(dirname(routerStatePath(layout)), { recursive: true })
  await writeFile(routerStatePath(layout), '{"sentence":"writes go on"}')
  expect(localRouter(layout, cluster)?.sentence).toBe('writes go on')
  await writeFile(routerStatePath(layout), '{"sentence":7}')
  expect(localRouter(layout, cluster)?.sentence).toBe('the router says nothing that is understood')
  expect(localRouter(layout, { number: 4 })).toBeUndefined()
})
