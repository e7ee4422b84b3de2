import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import {
  debianMirrors,
  parseDeb822Sources,
  parseOneLineSources,
  type AptSource,
  type DebianMirror,
} from './apt-sources.ts'

export interface Architecture {
  /** Debian's name of it. */
  readonly architecture: string
  /** Folder below `usr/lib` where its libraries are. */
  readonly triplet: string
  /** File name of its dynamic loader. */
  readonly loader: string
}

/** What unpacking needs to know of the machine it runs on. */
export interface DebianMachine extends Architecture {
  readonly mirrors: readonly DebianMirror[]
}

const architectures: Readonly<Record<string, Architecture>> = {
  x64: { architecture: 'amd64', triplet: 'x86_64-linux-gnu', loader: 'ld-linux-x86-64.so.2' },
  arm64: { architecture: 'arm64', triplet: 'aarch64-linux-gnu', loader: 'ld-linux-aarch64.so.1' },
}

/** Debian's names for Node's architecture `arch`; undefined for those on which nothing here has been tried. */
export function debianArchitecture(arch: string): Architecture | undefined {
  return architectures[arch]
}

/**
 * Reads the machine's release and apt sources below `root`. Rejects with REGENT_SETUP_FAILED where the machine is not a
 * Debian one, is neither x64 nor arm64, or no mirror of Debian is configured.
 */
export async function readDebianMachine(root = '/', arch: string = process.arch): Promise<DebianMachine> {
  const release = parseOsRelease((await textOf(join(root, 'etc/os-release'))) ?? '')
  if (release.get('ID') !== 'debian') {
    const name = release.get('PRETTY_NAME') ?? release.get('ID') ?? say`an unknown distribution`
    throw new RegentError(
      'REGENT_SETUP_FAILED',
      say`Only Debian packages can be unpacked, and this machine runs ${name}.`,
    )
  }
  const architecture = debianArchitecture(arch)
  if (architecture === undefined) {
    throw new RegentError(
      'REGENT_SETUP_FAILED',
      say`Debian packages are unpacked on x64 and arm64 machines only, and this one is ${arch}.`,
    )
  }
  const mirrors = debianMirrors(await readSources(join(root, 'etc/apt')), release.get('VERSION_CODENAME') ?? 'stable')
  if (mirrors.length === 0) {
    throw new RegentError(
      'REGENT_SETUP_FAILED',
      say`No mirror of Debian is named in /etc/apt/sources.list or /etc/apt/sources.list.d.`,
    )
  }
  return { ...architecture, mirrors }
}

/** The `KEY=value` lines of an os-release(5) file, quotes taken off. */
export function parseOsRelease(text: string): ReadonlyMap<string, string> {
  const lines = text.matchAll(/^([A-Z_]+)=(["']?)(.*)\2$/gm)
  return new Map([...lines].map(([, key = '', , value = '']) => [key, value]))
}

async function readSources(folder: string): Promise<readonly AptSource[]> {
  const parts = join(folder, 'sources.list.d')
  const names = await readdir(parts).catch(() => [])
  const files = [join(folder, 'sources.list'), ...names.sort().map((name) => join(parts, name))]
  const parsed = await Promise.all(files.map(parseFile))
  return parsed.flat()
}

async function parseFile(file: string): Promise<readonly AptSource[]> {
  if (!file.endsWith('.list') && !file.endsWith('.sources')) return []
  const text = (await textOf(file)) ?? ''
  return file.endsWith('.list') ? parseOneLineSources(text) : parseDeb822Sources(text)
}

/** An unreadable file says nothing here: apt itself skips what this user may not read. */
async function textOf(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch(() => undefined)
}
