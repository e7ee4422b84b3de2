import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pack, type Header } from 'tar-stream'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { counted } from '#common/text/words.ts'
import { copyNoteName } from './copy-note.ts'
import { packFolder } from './pack-folder.ts'
import { named, unpack, type LeftOut } from './unpack.ts'

const note = {
  version: 1,
  mysql: '9.7.4',
  serverUuid: 'uuid',
  instance: 'shop-1',
  cluster: 'shop',
  atLeast: 'uuid:1-5',
  atMost: 'uuid:1-7',
} as const

async function aFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'regent-copy-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** A long name of a table, a file of zeros with a length of whole blocks, an empty file, folders. */
const tree: Readonly<Record<string, Buffer>> = {
  ibdata1: Buffer.alloc(1_048_576),
  'mysql.ibd': Buffer.from('dictionary'),
  '#innodb_redo/#ib_redo1': Buffer.alloc(300_000, 7),
  '#clone/#status_fix': Buffer.alloc(0),
  [`app/${'@4e2d'.repeat(40)}#p#p0.ibd`]: Buffer.alloc(70_001, 'x'),
  [`${'d'.repeat(120)}/${'t'.repeat(120)}.ibd`]: Buffer.alloc(513, 'y'),
}

async function aDataFolder(): Promise<string> {
  const folder = await aFolder()
  for (const [name, content] of Object.entries(tree)) {
    await mkdir(join(folder, name, '..'), { recursive: true })
    await writeFile(join(folder, name), content)
  }
  await mkdir(join(folder, 'empty'))
  return folder
}

async function contentOf(folder: string): Promise<Readonly<Record<string, Buffer>>> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return Object.fromEntries(
    await Promise.all(files.map(async (file) => [file.slice(folder.length + 1), await readFile(file)] as const)),
  )
}

/** A tar stream of these entries, with its end. */
async function aTar(...entries: readonly (Partial<Header> & { name: string; content?: string })[]): Promise<Buffer> {
  const tape = pack()
  const taken = buffer(tape)
  for (const { content = '', ...header } of entries) tape.entry(header, content)
  tape.finalize()
  return taken
}

/** The block of an entry as no writer makes it. */
function headerOf(type: string, size: number, name = 'x'): Buffer {
  const block = Buffer.alloc(512)
  const fields: readonly (readonly [number, string])[] = [
    [0, name],
    [124, size.toString(8).padStart(11, '0')],
    [148, ' '.repeat(8)],
    [156, type],
    [257, 'ustar\0' + '00'],
  ]
  for (const [at, text] of fields) block.write(text, at)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(sum.toString(8).padStart(6, '0') + '\0 ', 148)
  return block
}

async function* chunksOf(tar: Buffer, bytes = 10_000): AsyncGenerator<Buffer> {
  for (let at = 0; at < tar.length; at += bytes) yield tar.subarray(at, at + bytes)
}

function all(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  return buffer(Readable.from(chunks))
}

const nothing: LeftOut = () => false

describe('a copy', () => {
  it('travels as it is, with a note at the end, and is gone from where it was', async () => {
    const [from, to] = [await aDataFolder(), await aFolder()]
    const bytes = Object.values(tree).reduce((sum, { length }) => sum + length, 0)
    expect(await unpack(packFolder(from, note), to, nothing)).toEqual({
      files: 6,
      bytes,
      note: { ...note, files: 6, bytes },
    })
    expect(await contentOf(to)).toEqual(tree)
    expect((await stat(join(to, 'empty'))).isDirectory()).toBe(true)
    expect((await stat(join(to, 'ibdata1'))).mode & 0o777).toBe(0o640)
    expect(await contentOf(from)).toEqual({})
  })

  it('is a tar that the program reads, the dictionary and the note last', async () => {
    const [from, to] = [await aDataFolder(), await aFolder()]
    const tar = await all(packFolder(from, note))
    const listed = spawnSync('tar', ['-xvf', '-', '-C', to], { input: tar })
    expect([listed.status, listed.stderr.toString()]).toEqual([0, ''])
    const { [copyNoteName]: sent, ...content } = await contentOf(to)
    expect(content).toEqual(tree)
    expect(JSON.parse(String(sent))).toMatchObject({ ...note, files: 6 })
    expect(listed.stdout.toString().trim().split('\n').slice(-2)).toEqual(['mysql.ibd', copyNoteName])
  })

  it('that the program made is read as well, of either format', async () => {
    for (const format of ['gnu', 'pax']) {
      const [from, to] = [await aDataFolder(), await aFolder()]
      const made = spawnSync('tar', ['-C', from, `--format=${format}`, '-cf', '-', '.'], { maxBuffer: 1e8 })
      expect(made.status).toBe(0)
      expect(await unpack(chunksOf(made.stdout), to, nothing)).toMatchObject({ files: 6, note: undefined })
      expect(await contentOf(to)).toEqual(tree)
    }
  })

  it('is whole in whatever pieces the stream comes', async () => {
    const tar = await all(packFolder(await aDataFolder(), note))
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 600, max: 70_000 }), async (bytes) => {
        const to = await aFolder()
        await unpack(chunksOf(tar, bytes), to, nothing)
        expect(await contentOf(to)).toEqual(tree)
      }),
      { numRuns: 5 },
    )
  })

  it('leaves out what must not travel', async () => {
    const to = await aFolder()
    const tar = await aTar(
      { name: 'auto.cnf', content: 'uuid' },
      { name: './lost+found/', type: 'directory' },
      { name: 'app/auto.cnf', content: 'a table’s' },
    )
    await unpack(chunksOf(tar), to, named(new Set(['auto.cnf', 'lost+found'])))
    expect(Object.keys(await contentOf(to))).toEqual(['app/auto.cnf'])
    expect(await readdir(to)).toEqual(['app'])
  })

  it('that is broken off at any place is refused', async () => {
    const tar = await all(packFolder(await aDataFolder(), note))
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: tar.length - 1 }), async (end) => {
        await expect(unpack(chunksOf(tar.subarray(0, end)), await aFolder(), nothing)).rejects.toThrow(
          /broke off after \d+ bytes|the stream is empty|no whole tar: Unexpected end of data/,
        )
      }),
      { numRuns: 60, examples: [[0], [512], [380_248], [tar.length - 1], [tar.length - 512]] },
    )
  })

  it.each([
    { files: 2, bytes: 1 },
    { files: 0, bytes: 1 },
    { files: 1, bytes: 0 },
    { files: 1, bytes: 2 },
  ])('whose note counts other files or bytes than came is refused: %j', async ({ files, bytes }) => {
    const content = JSON.stringify({ ...note, files, bytes })
    const tar = await aTar({ name: 'a', content: 'x' }, { name: copyNoteName, content })
    await expect(unpack(chunksOf(tar), await aFolder(), nothing)).rejects.toThrow(
      `1 file with 1 byte came, where ${counted(files, 'file')} with ${counted(bytes, 'byte')} had been sent`,
    )
  })

  it('whose note is longer than any is refused', async () => {
    const counted = JSON.stringify({ ...note, files: 0, bytes: 0 })
    const longest = await aTar({ name: copyNoteName, content: counted.padEnd(1_048_576) })
    expect((await unpack(chunksOf(longest), await aFolder(), nothing)).note).toMatchObject(note)
    const longer = await aTar({ name: copyNoteName, content: counted.padEnd(1_048_577) })
    await expect(unpack(chunksOf(longer), await aFolder(), nothing)).rejects.toThrow('longer than any note')
  })

  it('with a header that is longer than any is refused before that came', async () => {
    const tar = Buffer.concat([headerOf('g', 4 * 1_048_576 + 1), Buffer.alloc(1_024)])
    await expect(unpack(chunksOf(tar), await aFolder(), nothing)).rejects.toThrow('Header exceeds max size')
  })

  it.each(['app/', copyNoteName])('with a folder that has bytes is refused: %s', async (name) => {
    const tar = Buffer.concat([headerOf('5', 3, name), Buffer.alloc(512, 'x'), Buffer.alloc(1_024)])
    await expect(unpack(chunksOf(tar), await aFolder(), nothing)).rejects.toThrow('is a folder with 3 bytes')
  })

  it.each([
    [{ name: copyNoteName, content: '{"version":2}' }, 'another version of Regent'],
    [{ name: copyNoteName, content: 'x' }, 'JSON'],
  ])('whose note is not understood is refused: %j', async (entry, why) => {
    await expect(unpack(chunksOf(await aTar(entry)), await aFolder(), nothing)).rejects.toThrow(why)
  })

  it('that goes on after its note is refused', async () => {
    const counted = JSON.stringify({ ...note, files: 0, bytes: 0 })
    const tar = await aTar({ name: copyNoteName, content: counted }, { name: 'late', content: 'x' })
    await expect(unpack(chunksOf(tar), await aFolder(), nothing)).rejects.toThrow('goes on after')
  })

  it.each<readonly [string, Partial<Header> & { name: string }, string]>([
    ['an absolute name', { name: '/etc/passwd' }, 'an absolute name'],
    ['a name that leads out', { name: 'app/../../x' }, 'leads out of the folder'],
    ['a folder that leads out', { name: '../x', type: 'directory' }, 'leads out of the folder'],
    ['a symbolic link', { name: 'x', type: 'symlink', linkname: '/etc' }, 'is a symlink'],
    ['a hard link', { name: 'x', type: 'link', linkname: '/etc/passwd' }, 'is a link'],
    ['a device', { name: 'x', type: 'block-device' }, 'is a block-device'],
    ['another device', { name: 'x', type: 'character-device' }, 'is a character-device'],
    ['a pipe', { name: 'x', type: 'fifo' }, 'is a fifo'],
    ['a line break in a name', { name: 'a\nb' }, 'a control character'],
    ['a name that is too long', { name: 'n'.repeat(256) }, 'more than 255 bytes'],
    ['no name', { name: '.' }, 'without a name'],
  ])('with %s is refused, and nothing is written for that', async (_what, entry, why) => {
    const to = await aFolder()
    const tar = await aTar({ name: 'before', content: 'x' }, entry, { name: 'after', content: 'x' })
    await expect(unpack(chunksOf(tar), to, nothing)).rejects.toThrow(why)
    expect(await readdir(to)).toEqual(['before'])
  })

  it('that has a file twice is refused', async () => {
    const tar = await aTar({ name: 'a', content: 'x' }, { name: './a', content: 'y' })
    await expect(unpack(chunksOf(tar), await aFolder(), nothing)).rejects.toThrow('EEXIST')
  })

  it('that is no tar is refused', async () => {
    await expect(unpack(chunksOf(Buffer.alloc(9_000, 'XBSTCK01')), await aFolder(), nothing)).rejects.toThrow(/tar/i)
  })

  it('of a folder with a link is not made', async () => {
    const from = await aDataFolder()
    await symlink('/etc', join(from, 'out'))
    await expect(all(packFolder(from, note))).rejects.toThrow('out is neither a file nor a folder')
  })

  it('is none where a file would not be taken from it', async () => {
    const from = await aDataFolder()
    const takes = (path: string) => !path.endsWith('.ibd')
    await expect(all(packFolder(from, note, takes))).rejects.toThrow(
      /^the copy has a file that no restore takes: .+\.ibd of \d+ bytes?$/,
    )
  })

  it('is given up in the middle without a file that stays open', async () => {
    const from = await aDataFolder()
    for await (const chunk of packFolder(from, note)) if (chunk.length > 100_000) break
    expect(Object.keys(await contentOf(from))).toContain('mysql.ibd')
  })

  it('breaks off where a file is gone in the middle, and says so', async () => {
    const from = await aDataFolder()
    const made = packFolder(from, note)
    await made.next()
    await rm(join(from, 'mysql.ibd'))
    await expect(all(made)).rejects.toThrow('ENOENT')
  })
})
