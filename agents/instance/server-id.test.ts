import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ensureServerId, folderNumberFile, forgetServer, readServerId, writeFolderNumber } from './server-id.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-server-id-'))
  await dataIsMade()
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const number = () => join(folder, folderNumberFile)
/** By `--initialize`, or a copy. */
const dataIsMade = () => writeFile(join(folder, 'ibdata1'), '')
/** As every server does at its first start. */
const serverStarts = () => writeFile(join(folder, 'auto.cnf'), '[auto]\nserver-uuid=…\n')

describe('The server_id of a data folder', () => {
  it('is made before its first server starts, and stays', async () => {
    expect(await readServerId(folder, 'shop-2')).toBeUndefined()
    const id = await ensureServerId(folder, 'shop-2')
    await serverStarts()
    expect(await ensureServerId(folder, 'shop-2')).toBe(id)
    expect(await readServerId(folder, 'shop-2')).toBe(id)
    expect(await readdir(folder)).toEqual(['auto.cnf', 'ibdata1', folderNumberFile])
  })

  it('is another one for another folder of the same instance, and none where there is no data', async () => {
    const before = await ensureServerId(folder, 'shop-2')
    await rename(folder, `${folder}.old`)
    await rm(`${folder}.old`, { recursive: true })
    expect(await ensureServerId(folder, 'shop-2')).toBeUndefined()
    await mkdir(folder)
    expect(await ensureServerId(folder, 'shop-2')).toBeUndefined()
    expect(await readdir(folder)).toEqual([])
    await dataIsMade()
    expect(await ensureServerId(folder, 'shop-2')).not.toBe(before)
  })

  it('of an older version, which kept no number, is what that version gave', async () => {
    await serverStarts()
    expect(await ensureServerId(folder, 'shop-2')).toBe(3)
    expect(await readServerId(folder, 'shop-2')).toBe(3)
    expect(await readdir(folder)).toEqual(['auto.cnf', 'ibdata1'])
  })

  it('is another one once the server is forgotten, with its server_uuid, also of an older version', async () => {
    for (const before of [await ensureServerId(folder, 'shop-2'), 3]) {
      if (before === 3) await rm(number())
      await serverStarts()
      expect(await readServerId(folder, 'shop-2')).toBe(before)
      await forgetServer(folder)
      expect(await readdir(folder)).toEqual(['ibdata1'])
      expect(await ensureServerId(folder, 'shop-2')).not.toBe(before)
    }
  })

  it('is made before the folder of a new server takes its place, which has a server_uuid by then', async () => {
    await serverStarts()
    await writeFolderNumber(folder)
    expect(await ensureServerId(folder, 'shop-2')).toBeGreaterThan(16)
  })

  it('is made anew where a hand has spoilt its number: on the same data another server_id does no harm', async () => {
    await serverStarts()
    for (const text of ['', 'junk', '-1', '1', '1e99', '268435456']) {
      await writeFile(number(), text)
      expect(await readServerId(folder, 'shop-2')).toBeUndefined()
      const id = await ensureServerId(folder, 'shop-2')
      expect(Number(await readFile(number(), 'utf8')) * 16 + 2).toBe(id)
    }
  })
})
