import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { cacheFolder } from '../files/cache-folder.ts'
import { parseOsRelease, readDebianMachine } from './debian-machine.ts'
import { findUnpacked, programOf, type DebianBundle } from './debian-packages.ts'
import { withFileLock } from '../files/file-lock.ts'
import { aptReason } from './private-apt.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-debian-'))
})

afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true, force: true })
})

async function machine(osRelease: string, files: Readonly<Record<string, string>>): Promise<string> {
  await mkdir(join(folder, 'etc/apt/sources.list.d'), { recursive: true })
  await writeFile(join(folder, 'etc/os-release'), osRelease)
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, 'etc/apt', name), text)
  return folder
}

const debian = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_CODENAME=bookworm\nID=debian\n'
const stanza =
  'Types: deb\nURIs: http://two.example/debian\nSuites: bookworm\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n'

describe('the machine', () => {
  it('is read from both formats of apt sources, and from no other file', async () => {
    const root = await machine(debian, {
      'sources.list': 'deb http://one.example/debian bookworm main\n',
      'sources.list.d/debian.sources': stanza,
      'sources.list.d/debian.sources.disabled': stanza.replace('two', 'three'),
    })
    const read = await readDebianMachine(root, 'arm64')
    expect(read).toMatchObject({ architecture: 'arm64', triplet: 'aarch64-linux-gnu', loader: 'ld-linux-aarch64.so.1' })
    expect(read.mirrors.map((mirror) => mirror.uri)).toEqual(['http://two.example/debian', 'http://one.example/debian'])
  })

  it('is refused by name when it is not a Debian one', async () => {
    const root = await machine('PRETTY_NAME="Fedora Linux 44"\nID=fedora\n', {})
    await expect(readDebianMachine(root, 'x64')).rejects.toThrow('this machine runs Fedora Linux 44.')
  })

  it('is refused when its processor is of a kind that nobody has tried', async () => {
    const root = await machine(debian, { 'sources.list.d/debian.sources': stanza })
    await expect(readDebianMachine(root, 's390x')).rejects.toThrow('this one is s390x')
  })

  it('is refused when its apt names no mirror of Debian', async () => {
    const root = await machine(debian, { 'sources.list': '# nothing\n' })
    await expect(readDebianMachine(root, 'x64')).rejects.toThrow(
      new RegentError(
        'REGENT_SETUP_FAILED',
        say`No mirror of Debian is named in /etc/apt/sources.list or /etc/apt/sources.list.d.`,
      ),
    )
  })

  it('has a release file whose values may be quoted either way', () => {
    expect([...parseOsRelease("ID=debian\nNAME=\"A 'B'\"\nVERSION='12 (x)'\n# no\n")]).toEqual([
      ['ID', 'debian'],
      ['NAME', "A 'B'"],
      ['VERSION', '12 (x)'],
    ])
  })
})

describe('the cache', () => {
  const bundle: DebianBundle = { name: 'thing', title: 'Thing', packages: ['thing'], byHand: 'Install it.' }

  it('is where REGENT_CACHE says, else below the user’s cache folder', () => {
    expect(cacheFolder({ REGENT_CACHE: '/here', XDG_CACHE_HOME: '/xdg' })).toBe('/here')
    expect(cacheFolder({ XDG_CACHE_HOME: '/xdg' })).toBe('/xdg/regent')
    expect(cacheFolder({ XDG_CACHE_HOME: 'relative' })).toMatch(/^\/.*\/\.cache\/regent$/)
  })

  it('does not believe a folder whose list of packages is missing', async () => {
    vi.stubEnv('REGENT_CACHE', folder)
    await mkdir(join(folder, 'thing-amd64/usr/bin'), { recursive: true })
    await mkdir(join(folder, 'thing-arm64/usr/bin'), { recursive: true })
    expect(await findUnpacked(bundle)).toBeUndefined()
    for (const name of await readdir(folder)) await writeFile(join(folder, name, 'packages.json'), '{}')
    expect((await findUnpacked(bundle))?.root).toMatch(/\/thing-(amd64|arm64)$/)
  })

  it('has programs that run by their own loader and libraries', () => {
    const tree = {
      root: '/c/thing-arm64',
      architecture: { architecture: 'arm64', triplet: 'aarch64-linux-gnu', loader: 'ld-linux-aarch64.so.1' },
    }
    expect(programOf(tree, 'usr/bin/thing')).toEqual([
      '/c/thing-arm64/usr/lib/aarch64-linux-gnu/ld-linux-aarch64.so.1',
      '--library-path',
      '/c/thing-arm64/usr/lib/aarch64-linux-gnu',
      '/c/thing-arm64/usr/bin/thing',
    ])
  })
})

describe('the lock of a set-up', () => {
  it('lets one in at a time, and the next one after a failure too', async () => {
    const file = join(folder, 'lock')
    const steps: string[] = []
    const quiet = () => undefined
    const first = withFileLock(file, quiet, async () => {
      steps.push('first in')
      await new Promise((resolve) => setTimeout(resolve, 100))
      steps.push('first out')
      throw new Error('failed')
    })
    await vi.waitFor(() => expect(steps).toEqual(['first in']))
    const second = withFileLock(file, quiet, async () => steps.push('second in'))
    await expect(first).rejects.toThrow('failed')
    await second
    expect(steps).toEqual(['first in', 'first out', 'second in'])
  })

  it('says which file cannot be locked', async () => {
    const file = join(folder, 'no/such/folder/lock')
    await expect(
      withFileLock(
        file,
        () => undefined,
        async () => 1,
      ),
    ).rejects.toThrow(`cannot lock ${file}`)
  })
})

describe('a failure of apt', () => {
  it('is told by its cause, not by its last line', () => {
    const stderr = [
      "E: Failed to fetch http://one.example/debian/dists/sid/InRelease  Temporary failure resolving 'one.example'",
      'E: Some index files failed to download. They have been ignored, or old ones used instead.',
    ].join('\n')
    expect(aptReason(stderr)).toBe(
      "Failed to fetch http://one.example/debian/dists/sid/InRelease Temporary failure resolving 'one.example'",
    )
    expect(aptReason('E: Unable to locate package thing')).toBeUndefined()
  })
})
