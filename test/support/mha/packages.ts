import { readdir, readFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { describeError } from '#common/errors/errors.ts'
import { runCommand } from '#common/process/run-command.ts'
import { debianArchitecture } from '#local/packages/debian-machine.ts'
import { unpackedPackages } from '../unpacked-packages.ts'

/** MHA's manager and node tools, unpacked. */
export interface MhaPackages {
  /** For example `0.58`. */
  readonly version: string
  readonly manager: string
  /** What its programs need: modules of perl, a library, and each other on `PATH`. */
  readonly env: Readonly<Record<'PATH' | 'PERL5LIB' | 'LD_LIBRARY_PATH', string>>
}

/** Debian's packages of MHA; a sentence where they cannot be had. */
export async function mhaPackages(): Promise<MhaPackages | string> {
  const packages = ['mha4mysql-manager', 'mha4mysql-node']
  try {
    const program = 'usr/bin/masterha_manager'
    const root = await unpackedPackages({ folder: 'mha', packages, proof: program, needs: true, prepare: makeRunnable })
    const manager = join(root, program)
    const env = await environmentOf(root)
    // The manager loads what speaks to MySQL only once it connects.
    for (const module of ['DBD::mysql', 'Config::Tiny', 'Log::Dispatch', 'Parallel::ForkManager'])
      await toldBy(['perl', `-M${module}`, '-e', '1'], env)
    const version = /version ([\d.]*\d)/.exec(await toldBy([manager, '--version'], env))?.[1] ?? 'of no version'
    return { version, manager, env }
  } catch (error) {
    return `MHA is left out: ${packages.join(' and ')} of Debian cannot be had; where apt's lists are missing, apt-get update has them (${describeError(error)})`
  }
}

/**
 * MHA makes every warning of perl fatal, and perl warns since 5.22 of what MHA does with a server's version: without
 * this its manager ends at the first server.
 */
async function makeRunnable(root: string): Promise<void> {
  const path = join(root, 'usr/share/perl5/MHA/NodeUtil.pm')
  await writeFile(path, withoutRedundant(await readFile(path, 'utf8')))
}

export function withoutRedundant(module: string): string {
  return module.replace("use warnings FATAL => 'all';", "$& no warnings 'redundant';")
}

async function environmentOf(root: string): Promise<MhaPackages['env']> {
  const libraries = join(root, 'usr/lib', debianArchitecture(process.arch)?.triplet ?? '')
  const versions = await readdir(join(libraries, 'perl5')).catch(() => [])
  const modules = [join(root, 'usr/share/perl5'), ...versions.map((version) => join(libraries, 'perl5', version))]
  return {
    PATH: [join(root, 'usr/bin'), process.env['PATH'] ?? ''].join(delimiter),
    PERL5LIB: modules.join(delimiter),
    LD_LIBRARY_PATH: libraries,
  }
}

async function toldBy(argv: readonly string[], env: MhaPackages['env']): Promise<string> {
  const ran = await runCommand(argv, { deadlineMs: 30_000, env: { ...process.env, ...env } })
  if (!ran.ok) throw new Error(ran.failure)
  return ran.stdout
}
