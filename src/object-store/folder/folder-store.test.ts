import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { link, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { contentOf, inChunks, itKeepsTheContract, listed } from '../contract.ts'
import { folderDisk, FolderStore } from './folder-store.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-folder-store-'))
})

afterEach(() => rm(folder, { recursive: true, force: true }))

describe('A folder', () => {
  itKeepsTheContract(
    async () => ({
      store: await FolderStore.open(folder),
      beginUpload: async (key) => {
        const path = join(folder, `${key}~0123456789abcdef`)
        await mkdir(dirname(path), { recursive: true })
        await writeFile(path, 'half')
      },
      end: () => Promise.resolve(),
    }),
    { manyKeys: 40 },
  )

  it('must be there, so that the folder of a disk that is not mounted is not filled', async () => {
    await expect(FolderStore.open(join(folder, 'no'))).rejects.toMatchObject({
      code: 'REGENT_BACKUP_STORE',
      message: expect.stringMatching(/there is no such folder: make the folder, or mount the disk/) as string,
    })
    await writeFile(join(folder, 'file'), '')
    await expect(FolderStore.open(join(folder, 'file'))).rejects.toThrow('a part of the path is a file')
  })

  it('is not taken for the store where another folder came into its place', async () => {
    const store = await FolderStore.open(folder)
    await rename(folder, `${folder}.away`)
    await mkdir(folder)
    try {
      await expect(listed(store, '')).rejects.toThrow('the folder is another than before')
      await expect(store.putIfAbsent('a', Buffer.from('x'))).rejects.toThrow('the folder is another than before')
    } finally {
      await rm(`${folder}.away`, { recursive: true })
    }
  })

  it('is closed to others than its user, with no draft or empty folder left behind', async () => {
    const store = await FolderStore.open(folder)
    await store.put('a/b/c', inChunks(Buffer.from('x')))
    await store.putIfAbsent('a/b/d', Buffer.from('x'))
    const { stdout } = await promisify(execFile)('find', [folder, '-mindepth', '1', '-printf', '%m %P\n'])
    expect(stdout.trim().split('\n').toSorted()).toEqual(['600 a/b/c', '600 a/b/d', '700 a', '700 a/b'])
    await store.delete(['a/b/c', 'a/b/d'])
    expect(await readdir(folder)).toEqual([])
  })

  it('follows no symbolic link, into a folder or to a file', async () => {
    const outside = await mkdtemp(join(tmpdir(), 'regent-outside-'))
    await writeFile(join(outside, 'secret'), 'secret')
    await symlink(outside, join(folder, 'dir'))
    await symlink(join(outside, 'secret'), join(folder, 'file'))
    const store = await FolderStore.open(folder)
    try {
      expect(await listed(store, '')).toEqual([])
      await expect(contentOf(store, 'dir/secret')).rejects.toThrow('is a symbolic link to')
      await expect(contentOf(store, 'file')).rejects.toThrow('a symbolic link has that name')
      await expect(store.put('dir/new', inChunks(Buffer.from('x')))).rejects.toThrow('is a symbolic link to')
      await expect(store.delete(['dir/secret'])).rejects.toThrow('is a symbolic link to')
      expect(await store.dropUnfinished('', Date.now() + 1_000)).toBe(0)
      // A link in the place of an object is replaced, and what it led to stays.
      await store.put('file', inChunks(Buffer.from('new')))
      expect((await contentOf(store, 'file')).toString()).toBe('new')
      expect(await readdir(outside)).toEqual(['secret'])
      expect(await readFile(join(outside, 'secret'), 'utf8')).toBe('secret')
    } finally {
      await rm(outside, { recursive: true })
    }
  })

  it('leaves out what is no object: names that are no key, pipes', async () => {
    await writeFile(join(folder, 'no key'), '')
    await promisify(execFile)('mkfifo', [join(folder, 'pipe')])
    const store = await FolderStore.open(folder)
    expect(await listed(store, '')).toEqual([])
    await expect(contentOf(store, 'pipe')).rejects.toMatchObject({ code: 'REGENT_NOT_FOUND' })
  })

  it('says that a key is the folder of another', async () => {
    const store = await FolderStore.open(folder)
    await store.put('a', inChunks(Buffer.from('x')))
    await expect(store.put('a/b', inChunks(Buffer.from('x')))).rejects.toThrow('a part of the path is a file')
    await store.put('d/e', inChunks(Buffer.from('x')))
    await expect(store.put('d', inChunks(Buffer.from('x')))).rejects.toThrow('a folder has that name')
  })

  it('tells a reader that a file became shorter', async () => {
    const store = await FolderStore.open(folder)
    await store.put('a', inChunks(Buffer.alloc(1_000_000)))
    const reading = store.get('a')[Symbol.asyncIterator]()
    await reading.next()
    await truncate(join(folder, 'a'), 300_000)
    const rest = async () => {
      for (;;) if ((await reading.next()).done === true) return
    }
    await expect(rest()).rejects.toMatchObject({
      code: 'REGENT_BACKUP_STORE',
      message: expect.stringContaining('the file ended at byte 300000, and had 1000000') as string,
    })
  })

  it('keeps a reader’s version while another takes its place', async () => {
    const store = await FolderStore.open(folder)
    await store.put('a', inChunks(Buffer.alloc(1_000_000, 1)))
    const reading = store.get('a')[Symbol.asyncIterator]()
    const first = (await reading.next()).value as Buffer
    await store.put('a', inChunks(Buffer.alloc(1_000_000, 2)))
    let ones = first.filter((byte) => byte === 1).length
    for (let next = await reading.next(); next.done !== true; next = await reading.next())
      ones += next.value.filter((byte) => byte === 1).length
    expect(ones).toBe(1_000_000)
  })

  /** As a mounted folder whose first answer was lost: the second try fails, since the first one did what was asked. */
  const answerLost = (code: string) => ({
    ...folderDisk,
    [code === 'EEXIST' ? 'link' : 'rename']: async (from: string, to: string) => {
      await (code === 'EEXIST' ? link : rename)(from, to)
      throw Object.assign(new Error(code), { code })
    },
  })

  it('whose answer to a link was lost knows by the file that the object is this writer’s', async () => {
    const [store, other] = [await FolderStore.open(folder, answerLost('EEXIST')), await FolderStore.open(folder)]
    expect(await store.putIfAbsent('a', Buffer.from('first'))).toBe(true)
    expect(await store.putIfAbsent('a', Buffer.from('first'))).toBe(false)
    expect(await other.putIfAbsent('b', Buffer.from('other'))).toBe(true)
    expect(await store.putIfAbsent('b', Buffer.from('other'))).toBe(false)
    expect(await readdir(folder)).toEqual(['a', 'b'])
  })

  it('in which a link was made and failed for another reason has the object all the same', async () => {
    const linkMade = async (from: string, to: string) => {
      await link(from, to)
      throw Object.assign(new Error('EIO'), { code: 'EIO' })
    }
    const store = await FolderStore.open(folder, { ...folderDisk, link: linkMade })
    expect(await store.putIfAbsent('a', Buffer.from('first'))).toBe(true)
    expect(await store.putIfAbsent('a', Buffer.from('first'))).toBe(false)
    const failing = { ...folderDisk, link: () => Promise.reject(Object.assign(new Error('EIO'), { code: 'EIO' })) }
    await expect((await FolderStore.open(folder, failing)).putIfAbsent('b', Buffer.from('x'))).rejects.toThrow('(EIO)')
    expect(await readdir(folder)).toEqual(['a'])
  })

  it('whose answer to a rename was lost has the object', async () => {
    const store = await FolderStore.open(folder, answerLost('ENOENT'))
    for (const text of ['first', 'second']) {
      await store.put('a', inChunks(Buffer.from(text)))
      expect((await contentOf(store, 'a')).toString()).toBe(text)
    }
    expect(await readdir(folder)).toEqual(['a'])
  })

  it('has an object whole or not at all when its writer is killed', async () => {
    const module = JSON.stringify(join(import.meta.dirname, 'folder-store.ts'))
    const child = spawn(
      process.execPath,
      [
        '--input-type=module',
        '--eval',
        `import { FolderStore } from ${module}
         const store = await FolderStore.open(${JSON.stringify(folder)})
         const content = async function* (mark) { for (let n = 0; n < 8; n += 1) yield Buffer.alloc(50_000, mark) }
         for (let n = 1; ; n += 1) {
           await store.put('a/put', content(n % 250))
           await store.putIfAbsent('a/absent.' + n, Buffer.alloc(100_000, n % 250))
           console.log(n)
         }`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    const gone = once(child, 'exit')
    while (!String(await once(child.stdout, 'data')).includes('3'));
    child.kill('SIGKILL')
    await gone
    const store = await FolderStore.open(folder)
    for (const { key, bytes } of await listed(store, '')) {
      const content = await contentOf(store, key)
      expect([bytes, new Set(content).size], key).toEqual([key === 'a/put' ? 400_000 : 100_000, 1])
    }
    await store.dropUnfinished('', Date.now() + 60_000)
    expect((await readdir(join(folder, 'a'))).filter((name) => name.includes('~'))).toEqual([])
  })
})
