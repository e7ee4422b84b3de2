import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheFolder } from '#local/files/cache-folder.ts'
import { runCommand } from '#common/process/run-command.ts'

export interface Wanted {
  /** Of the cache. */
  readonly folder: string
  readonly packages: readonly string[]
  /** A file of theirs, which is there once all are unpacked. */
  readonly proof: string
  /** What they need and this machine lacks comes too; perl itself is never among that. */
  readonly needs?: true
  /** Changes what was unpacked, before anybody sees the tree. */
  readonly prepare?: (root: string) => Promise<void>
}

/**
 * Packages of the Debian release that this machine runs, so that they find its libraries: unpacked into the cache, and
 * installed nowhere. Rejects with what stood in the way.
 */
export async function unpackedPackages({ folder, packages, proof, needs, prepare }: Wanted): Promise<string> {
  const root = join(cacheFolder(), folder)
  if (await isThere(join(root, proof))) return root
  const staging = `${root}.${process.pid}`
  await mkdir(join(staging, 'partial'), { recursive: true })
  try {
    if (needs) await said(downloadWithNeeds(staging, packages), staging)
    else await said(['apt-get', 'download', ...packages], staging)
    for (const name of await readdir(staging)) if (isWanted(name)) await said(['dpkg', '-x', name, 'root'], staging)
    await prepare?.(join(staging, 'root'))
    await rename(join(staging, 'root'), root).catch(async (error: unknown) => {
      // Another test was faster.
      if (!(await isThere(join(root, proof)))) throw error
    })
    return root
  } finally {
    await rm(staging, { recursive: true, force: true })
  }
}

/** Nothing is installed, and nothing but the folder is written: that needs neither root nor apt's lock. */
function downloadWithNeeds(folder: string, packages: readonly string[]): readonly string[] {
  const settings = [`Dir::Cache::archives=${folder}`, 'Debug::NoLocking=true', 'APT::Sandbox::User=root']
  return [
    ...['apt-get', 'install', '--yes', '--download-only', '--reinstall', '--no-install-recommends'],
    ...settings.flatMap((setting) => ['-o', setting]),
    ...packages,
  ]
}

/** The machine's perl runs everything: modules of another perl would not fit. */
function isWanted(name: string): boolean {
  return name.endsWith('.deb') && !/^(perl|perl-base|perl-modules-[\d.]+|libperl[\d.]+)_/.test(name)
}

/** Runs a command in a folder. Rejects with what the command complained of. */
export async function said(command: readonly string[], folder: string): Promise<void> {
  const result = await runCommand(['sh', '-c', 'cd "$1" && shift && exec "$@"', 'sh', folder, ...command], {
    deadlineMs: 120_000,
  })
  if (!result.ok) throw new Error(result.failure)
}

export function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
