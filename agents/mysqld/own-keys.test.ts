import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { removeCutOffKeys } from './own-keys.ts'

const key = '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n'

async function left(files: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'regent-keys-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  await removeCutOffKeys(folder)
  return (await readdir(folder)).toSorted()
}

it.each([
  ['empty', ''],
  ['half', key.slice(0, 40)],
  ['zeros', '\0'.repeat(key.length)],
])('A key that is %s takes its set away, and no other file', async (_what, text) => {
  const files = { 'private_key.pem': text, 'public_key.pem': key, 'server-key.pem': key, 'auto.cnf': '' }
  expect(await left(files)).toEqual(['auto.cnf', 'server-key.pem'])
})

it('Keys that are whole stay, also where others of their set are elsewhere', async () => {
  expect(await left({ 'ca.pem': key, 'server-cert.pem': `${key}${key}`, 'private_key.pem': key })).toHaveLength(3)
  expect(await left({})).toEqual([])
})
