import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { readRouterFile } from './read-router-file.ts'

async function read(said: object) {
  const folder = await mkdtemp(join(tmpdir(), 'router-file-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const path = join(folder, 'router.json')
  await writeFile(path, JSON.stringify(said))
  return readRouterFile(path)
}

const file = {
  ...{ version: 1, cluster: 'shop', namespace: 'shops', instances: 3, manager: 'https://regent-manager.regent.svc' },
  settings: { waitMs: 500, reads: { maxLagMs: 1_000 } },
}

it('A router reads the file of a manager that knows more settings, and goes by what the router knows', async () => {
  const { settings } = file
  const newer = { ...settings, later: true, reads: { ...settings.reads, alsoLater: 'x' } }
  expect(await read({ ...file, settings: newer, alsoNew: {} })).toEqual(file)
})

it('A file with a setting that cannot be is refused', async () => {
  await expect(read({ ...file, settings: { waitMs: -1 } })).rejects.toThrow(/router\.json: .*waitMs/)
})
