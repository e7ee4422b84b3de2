import { expect, it } from 'vitest'
import { fileWith } from '../testing.ts'
import { readRouterSettings } from './router-file.ts'

it('Settings of a router are taken as they are said', async () => {
  const said = { waitMs: 500, connectMs: 10, logSessions: true, reads: { fallback: 'none' } }
  expect(await readRouterSettings(await fileWith(JSON.stringify(said)))).toEqual(said)
})

it.each([
  'waitMs: -1',
  'waitMs: soon',
  'connectMs: 9',
  'logSessions: some',
  'connectMs: 1001',
  'connectMs: 0.5',
  'maxConnections: 0',
  'reads: { maxLagMs: 0 }',
  'reads: { fallback: any }',
  'lag: 3',
])('The file with "%s" is refused with its path', async (text) => {
  const path = await fileWith(text)
  await expect(readRouterSettings(path)).rejects.toMatchObject({
    code: 'REGENT_BAD_FILE',
    message: expect.stringContaining(`the file given with --router-config, ${path}`) as string,
  })
})
