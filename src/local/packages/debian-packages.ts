import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { describeError, RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import type { DebianMirror } from './apt-sources.ts'
import { cacheFolder } from '../files/cache-folder.ts'
import { debianArchitecture, readDebianMachine, type Architecture, type DebianMachine } from './debian-machine.ts'
import { withFileLock } from '../files/file-lock.ts'
import {
  createPrivateApt,
  download,
  downloadedBytes,
  planDownload,
  updateLists,
  type PrivateApt,
} from './private-apt.ts'
import { runCommand } from '#common/process/run-command.ts'

/** A server that is unpacked from Debian packages, without root and without installing anything. */
export interface DebianBundle {
  /** Folder in the cache, before the architecture. */
  readonly name: string
  readonly title: string
  readonly packages: readonly string[]
  /** What a person does instead, where unpacking is not possible: one sentence. */
  readonly byHand: string
}

/** A folder that holds a program with everything it loads, down to libc and the dynamic loader. */
export interface UnpackedTree {
  readonly root: string
  readonly architecture: Architecture
}

export type Say = (line: string) => void

// Only sid has a current MySQL: Debian's stable releases ship none.
const suite = 'sid'
const manifestFile = 'packages.json'
const heartbeatMs = 5000
/** Nothing the servers load; together a fifth of the size. */
const unneeded = ['doc', 'man', 'locale', 'lintian', 'gdb', 'perl'].map((name) => join('usr/share', name))

/**
 * The tree unpacked earlier, or undefined. A folder without its list of packages was never finished and does not count.
 */
export async function findUnpacked(bundle: DebianBundle): Promise<UnpackedTree | undefined> {
  const architecture = debianArchitecture(process.arch)
  if (architecture === undefined) return undefined
  const root = treeRoot(bundle, architecture)
  const manifest = await readFile(join(root, manifestFile), 'utf8').catch(() => undefined)
  return manifest === undefined ? undefined : { root, architecture }
}

/**
 * Downloads and unpacks a bundle into the cache, saying what it does line by line. Safe to run twice at once: the
 * second waits and takes what the first made. Rejects with REGENT_SETUP_FAILED and a sentence that says what to do by
 * hand.
 */
export async function unpackBundle(bundle: DebianBundle, tell: Say): Promise<UnpackedTree> {
  try {
    const machine = await readDebianMachine()
    const cache = cacheFolder()
    await mkdir(cache, { recursive: true })
    const waiting = () => tell(`${bundle.title}: waiting for another set-up that is unpacking it`)
    return await withFileLock(join(cache, `${bundle.name}.lock`), waiting, async () => {
      return (await findUnpacked(bundle)) ?? (await unpackAlone(bundle, machine, tell))
    })
  } catch (error) {
    throw new RegentError(
      'REGENT_SETUP_FAILED',
      say`${bundle.title} could not be set up: ${endSentence(describeError(error))} ${bundle.byHand}`,
      {
        cause: error,
      },
    )
  }
}

/**
 * Argument vector that runs a program of the tree by the tree's own loader and libraries, whatever libc the machine
 * has.
 */
export function programOf(tree: UnpackedTree, path: string): readonly string[] {
  const libraries = join(tree.root, 'usr/lib', tree.architecture.triplet)
  return [join(libraries, tree.architecture.loader), '--library-path', libraries, join(tree.root, path)]
}

function treeRoot(bundle: DebianBundle, { architecture }: Architecture): string {
  return join(cacheFolder(), `${bundle.name}-${architecture}`)
}

/** Runs under the lock: every staging folder of this bundle that exists now belongs to a set-up that was killed. */
async function unpackAlone(bundle: DebianBundle, machine: DebianMachine, tell: Say): Promise<UnpackedTree> {
  const started = performance.now()
  const cache = cacheFolder()
  const prefix = `.staging-${bundle.name}-`
  for (const name of await readdir(cache)) {
    if (name.startsWith(prefix)) await rm(join(cache, name), { recursive: true, force: true })
  }
  const staging = join(cache, `${prefix}${process.pid}`)
  try {
    const archives = await fetchFromAnyMirror(bundle, machine, { staging, tell })
    tell(`${bundle.title}: unpacking ${archives.length} packages into ${treeRoot(bundle, machine)}`)
    const root = join(staging, 'root')
    await unpackArchives(archives, root)
    await putInPlace(root, treeRoot(bundle, machine))
    tell(`${bundle.title}: ready after ${seconds(started)} s`)
    return { root: treeRoot(bundle, machine), architecture: machine }
  } finally {
    await rm(staging, { recursive: true, force: true })
  }
}

interface Work {
  readonly staging: string
  readonly tell: Say
}

/** Mirrors in the order of their likelihood; the likeliest one's failure is what is reported. */
async function fetchFromAnyMirror(
  bundle: DebianBundle,
  machine: DebianMachine,
  work: Work,
): Promise<readonly string[]> {
  let failure: unknown
  for (const [index, mirror] of machine.mirrors.entries()) {
    try {
      return await fetchFrom(bundle, mirror, machine, { ...work, staging: join(work.staging, `apt-${index}`) })
    } catch (error) {
      failure ??= error
    }
  }
  throw failure
}

async function fetchFrom(
  bundle: DebianBundle,
  mirror: DebianMirror,
  machine: DebianMachine,
  work: Work,
): Promise<readonly string[]> {
  const apt = await createPrivateApt(work.staging, mirror, suite, machine.architecture)
  work.tell(`${bundle.title}: reading the list of Debian ${suite} packages from ${mirror.uri}`)
  await withHeartbeat(bundle, work.tell, apt, () => updateLists(apt))
  const plan = await planDownload(apt, bundle.packages)
  work.tell(`${bundle.title}: downloading ${plan.count} packages, ${megabytes(plan.bytes)} MB`)
  return withHeartbeat(bundle, work.tell, apt, () => download(apt, bundle.packages))
}

/** Long work shows that it lives: a line every few seconds with what has arrived. */
async function withHeartbeat<T>(bundle: DebianBundle, tell: Say, apt: PrivateApt, task: () => Promise<T>): Promise<T> {
  const started = performance.now()
  const beat = setInterval(() => {
    void downloadedBytes(apt).then(
      (bytes) => tell(`${bundle.title}: ${seconds(started)} s, ${megabytes(bytes)} MB have arrived`),
      () => undefined,
    )
  }, heartbeatMs)
  try {
    return await task()
  } finally {
    clearInterval(beat)
  }
}

async function unpackArchives(archives: readonly string[], root: string): Promise<void> {
  await mkdir(root, { recursive: true })
  for (const archive of archives) {
    const result = await runCommand(['dpkg-deb', '--extract', archive, root], { deadlineMs: 5 * 60_000 })
    if (!result.ok)
      throw new RegentError(
        'REGENT_SETUP_FAILED',
        say`${basename(archive)} could not be unpacked: ${reported(result.failure)}`,
      )
  }
  for (const folder of unneeded) await rm(join(root, folder), { recursive: true, force: true })
  await writeFile(
    join(root, manifestFile),
    `${JSON.stringify({ version: 1, packages: archives.map((path) => basename(path)) }, undefined, 2)}\n`,
  )
}

/** The rename makes the tree exist; what it names is on disk before, so that not even a power cut leaves half of it. */
async function putInPlace(root: string, place: string): Promise<void> {
  await runCommand(['sync', '--file-system', root], { deadlineMs: 5 * 60_000 })
  await rm(place, { recursive: true, force: true })
  await rename(root, place)
}

function seconds(since: number): string {
  return ((performance.now() - since) / 1000).toFixed(0)
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0)
}

function endSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
