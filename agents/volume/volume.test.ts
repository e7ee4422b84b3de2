import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pack } from 'tar-stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { copyNoteName } from '../lifecycle/copy/copy-note.ts'
import { anAgentConfig } from '../testing.ts'
import { createVolume } from './volume.ts'

/** A volume with these folders, each with a file that has the folder's name in it. */
async function aVolume(...folders: readonly string[]) {
  const path = await mkdtemp(join(tmpdir(), 'regent-volume-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  for (const folder of folders) {
    await mkdir(join(path, folder))
    await writeFile(join(path, folder, 'mysql.ibd'), folder)
  }
  const volume = createVolume(anAgentConfig({ volume: path }), () => 0)
  return { path, volume, dataOf: (folder: string) => readFile(join(path, folder, 'mysql.ibd'), 'utf8') }
}

const whileProven = { needsBeside: false }

describe('After an agent that died', () => {
  it('a half copy and data that were being removed are set aside at once, and removed after that', async () => {
    const { path, volume, dataOf } = await aVolume('data', 'data.beside', 'data.seed', 'data.old')
    await volume.setUnusedAside(whileProven)
    const aside = ['data.beside.unused', 'data.old.unused', 'data.seed.unused']
    expect((await readdir(path)).toSorted()).toEqual(['data', ...aside])
    expect(await volume.dropUnused()).toBe(true)
    expect(await readdir(path)).toEqual(['data'])
    expect(await dataOf('data')).toBe('data')
    expect(await volume.dropUnused()).toBe(false)
  })

  it('what was set aside twice is removed at the next start', async () => {
    const { path, volume } = await aVolume('data', 'data.seed', 'data.seed.unused')
    await volume.setUnusedAside(whileProven)
    await volume.dropUnused()
    await volume.setUnusedAside(whileProven)
    await volume.dropUnused()
    expect(await readdir(path)).toEqual(['data'])
  })

  it('data whose place nothing took yet have their place again', async () => {
    const { path, volume, dataOf } = await aVolume('data.old', 'data.seed')
    await volume.setUnusedAside(whileProven)
    await volume.dropUnused()
    expect(await readdir(path)).toEqual(['data'])
    expect(await dataOf('data')).toBe('data.old')
  })

  it('a half copy that the next agent can go on with stays, until nobody does', async () => {
    const { path, volume } = await aVolume('data', 'data.seed')
    await writeFile(join(path, 'data.seed.parts'), '')
    await volume.setUnusedAside(whileProven)
    expect(await volume.dropUnused()).toBe(false)
    expect((await readdir(path)).toSorted()).toEqual(['data', 'data.seed', 'data.seed.parts'])
    await volume.giveUpHalfCopy()
    await volume.setUnusedAside(whileProven)
    await volume.dropUnused()
    expect(await readdir(path)).toEqual(['data'])
  })

  it('a half copy goes where a fresh one is made', async () => {
    const { path, volume } = await aVolume('data', 'data.seed')
    await writeFile(join(path, 'data.seed.parts'), '')
    expect(await volume.freshSeedFolder()).toBe(join(path, 'data.seed'))
    expect(await readdir(path)).toEqual(['data'])
  })

  it('what may have to take its place again, and what others clear away, is not touched', async () => {
    const { path, volume } = await aVolume('data', 'data.beside', 'data.stream', 'data.rehearsal')
    await volume.setUnusedAside({ needsBeside: true })
    expect(await volume.dropUnused()).toBe(false)
    expect((await readdir(path)).length).toBe(4)
    expect(existsSync(join(path, 'data.beside'))).toBe(true)
  })
})

it('A backup gives what CLONE copies, and no settings, keys or marks that somebody put into it', async () => {
  const { path, volume } = await aVolume()
  const files: Readonly<Record<string, string>> = {
    ibdata1: 'pages',
    'app/orders.ibd': 'rows',
    '#clone/#status_fix': '',
    '#clone/#old_files': '/var/lib/somebody',
    'auto.cnf': '[auto]',
    'mysqld-auto.cnf': '{"Version":2,"mysql_dynamic_variables":{}}',
    'mysqld.my': '{"components":"file://component_x"}',
    'private_key.pem': 'a key',
    'binlog.000001': 'events',
    'regent-server-number': '7',
    'mysql.ibd': 'dictionary',
  }
  const tape = pack()
  for (const [name, content] of Object.entries(files)) tape.entry({ name }, content)
  const counts = { files: 11, bytes: Object.values(files).join('').length }
  tape.entry({ name: copyNoteName }, JSON.stringify({ version: 1, ...counts }))
  tape.finalize()
  const folder = join(path, 'data.seed')
  await volume.unpackInto(folder, { name: null, kept: null, read: () => tape as AsyncIterable<Buffer> }, null)
  const there = await readdir(folder, { recursive: true })
  expect(there.toSorted()).toEqual(
    ['#clone', '#clone/#status_fix', 'app', 'app/orders.ibd', 'ibdata1', 'mysql.ibd'].toSorted(),
  )
})
