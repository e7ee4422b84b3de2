import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { LoadFolder } from './load-folder.ts'

const came = { files: 3, bytes: 30, note: undefined, isVerified: true }

async function aFolder(files: Readonly<Record<string, string>> = {}) {
  const parent = await mkdtemp(join(tmpdir(), 'regent-load-'))
  onTestFinished(() => rm(parent, { recursive: true, force: true }))
  const path = join(parent, 'data')
  await fill(path, files)
  return { path, folder: new LoadFolder(path) }
}

async function fill(path: string, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(path, { recursive: true })
  for (const [name, content] of Object.entries(files)) {
    await mkdir(join(path, name, '..'), { recursive: true })
    await writeFile(join(path, name), content)
  }
}

const copy = { ibdata1: 'i', 'mysql.ibd': 'm', 'app/t.ibd': 't' }

describe('the data folder that is loaded', () => {
  it('is made where it is missing, and has a marker that says what it is', async () => {
    const { path, folder } = await aFolder()
    await rm(path, { recursive: true })
    expect(await folder.prepare('u')).toBeUndefined()
    expect(await readdir(path)).toEqual(['regent-load.partial'])
    expect(await readFile(join(path, 'regent-load.partial', 'unfinished.txt'), 'utf8')).toContain(
      'Until a load has succeeded this folder is not usable by a server.',
    )
  })

  it('has all files in their places after a load, and a note, and nothing else', async () => {
    const { path, folder } = await aFolder({ 'lost+found/x': '' })
    await folder.prepare('u')
    await fill(folder.stage, copy)
    await folder.check()
    await folder.finish('u', 'shop-0:3502', came)
    expect((await readdir(path)).toSorted()).toEqual([
      'app',
      'ibdata1',
      'lost+found',
      'mysql.ibd',
      'regent-loaded.json',
    ])
    expect(JSON.parse(await readFile(join(path, 'regent-loaded.json'), 'utf8'))).toEqual({
      version: 1,
      task: 'u',
      from: 'shop-0:3502',
      files: 3,
      bytes: 30,
      isVerified: true,
    })
  })

  it('is known again by the task that loaded it, and refused to any other', async () => {
    const { path, folder } = await aFolder()
    await folder.prepare('u')
    await fill(folder.stage, copy)
    await folder.finish('u', 'shop-0:3502', came)
    // A worker may die with the folder loaded and the stage still there.
    await mkdir(join(path, 'regent-load.partial'))
    expect(await folder.prepare('u')).toMatchObject({ task: 'u', bytes: 30 })
    await expect(folder.prepare('other')).rejects.toThrow('has data already (app, ibdata1, mysql.ibd …)')
    expect(await readFile(join(path, 'mysql.ibd'), 'utf8')).toBe('m')
  })

  it.each([
    [{ 'mysql.ibd': '' }],
    [{ 'some-file': '' }],
    [{ 'auto.cnf': '' }],
    [{ '.hidden': '' }],
    [{ 'regent-loaded.json': '{"task":"u"}' }],
  ])('that has %j is refused, and stays as it is', async (files) => {
    const { path, folder } = await aFolder(files)
    await expect(folder.prepare('u')).rejects.toThrow('has data already')
    expect(await readdir(path)).toEqual(Object.keys(files))
  })

  it('of a load that died while it came is cleared', async () => {
    const { path, folder } = await aFolder()
    await folder.prepare('u')
    await fill(folder.stage, { ibdata1: 'half' })
    expect(await new LoadFolder(path).prepare('v')).toBeUndefined()
    expect(await readdir(folder.stage)).toEqual([])
  })

  it('of a load that died while its files took their places is cleared, at whatever file', async () => {
    for (const moved of [[], ['app'], ['app', 'ibdata1'], ['app', 'ibdata1', 'regent-loaded.json']]) {
      const { path, folder } = await aFolder({ 'lost+found/x': '' })
      await folder.prepare('u')
      await fill(folder.stage, copy)
      const stage = join(path, 'regent-load.partial')
      await writeFile(join(stage, 'moving.json'), JSON.stringify(['app', 'ibdata1', 'regent-loaded.json']))
      for (const name of moved) await fill(path, { [name === 'app' ? 'app/t.ibd' : name]: '{"task":"u"}' })
      expect(await new LoadFolder(path).prepare('u')).toBeUndefined()
      expect((await readdir(path)).toSorted()).toEqual(['lost+found', 'regent-load.partial'])
      expect(await readdir(stage)).toEqual(['data', 'unfinished.txt'])
    }
  })

  it('of a load that failed is cleared of what a server left there that could not start, and of nothing else', async () => {
    const { path, folder } = await aFolder()
    await folder.prepare('u')
    await folder.fail(new Error('x'))
    await fill(path, { 'auto.cnf': '', 'binlog.index': '', '#ib_16384_0.dblwr': '' })
    expect(await folder.prepare('u')).toBeUndefined()
    expect(await readdir(path)).toEqual(['regent-load.partial'])
    await fill(path, { 'auto.cnf': '', 'app/t.ibd': 'data of somebody' })
    await expect(folder.prepare('u')).rejects.toThrow('has data already (app)')
    expect(await readFile(join(path, 'app/t.ibd'), 'utf8')).toBe('data of somebody')
  })

  it('of a load that failed has nothing but the marker, with the reason', async () => {
    const { path, folder } = await aFolder()
    await folder.prepare('u')
    await fill(folder.stage, copy)
    await folder.fail(new Error('the stream broke off after 77 bytes'))
    expect(await readdir(path, { recursive: true })).toEqual([
      'regent-load.partial',
      'regent-load.partial/unfinished.txt',
    ])
    expect(await readFile(join(path, 'regent-load.partial', 'unfinished.txt'), 'utf8')).toContain('after 77 bytes')
  })

  it('is filled from nothing but a data folder of a server', async () => {
    const { folder } = await aFolder()
    await folder.prepare('u')
    await fill(folder.stage, { ibdata1: '', 'data/mysql.ibd': '' })
    await expect(folder.check()).rejects.toThrow('the copy has no mysql.ibd at its top')
  })
})
