import { mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { RegentError } from '#common/errors/errors.ts'
import { reported, say, type Sayable } from '#common/sentence/sentence.ts'
import { sourcesFileFor, type DebianMirror } from './apt-sources.ts'
import { runCommand, type CommandResult } from '#common/process/run-command.ts'

/** An apt of our own in one folder: it reads the machine's keys and proxies, and writes nowhere else. */
export interface PrivateApt {
  readonly folder: string
  readonly env: Readonly<Record<string, string | undefined>>
}

const downloadDeadlineMs = 20 * 60_000

/**
 * Lays out a private apt below `folder` that knows `suite` of one mirror and believes that nothing is installed yet.
 */
export async function createPrivateApt(
  folder: string,
  mirror: DebianMirror,
  suite: string,
  architecture: string,
): Promise<PrivateApt> {
  for (const part of [
    'lists/partial',
    'archives/partial',
    'etc/sources.list.d',
    'etc/apt.conf.d',
    'etc/preferences.d',
  ]) {
    await mkdir(join(folder, part), { recursive: true })
  }
  // Nothing counts as installed, so the download holds every dependency down to libc itself.
  await writeFile(join(folder, 'status'), '')
  await writeFile(join(folder, 'etc/sources.list.d/debian.sources'), sourcesFileFor(mirror, suite, architecture))
  await writeFile(
    join(folder, 'apt.conf'),
    [...(await machineNetworkSettings()), ...settings(folder, architecture)].join('\n'),
  )
  return { folder, env: { ...process.env, APT_CONFIG: join(folder, 'apt.conf'), LC_ALL: 'C' } }
}

/** Proxies, certificates and retries, as the machine's administrator set them; hooks and everything else stay out. */
async function machineNetworkSettings(): Promise<readonly string[]> {
  const dump = await runCommand(['apt-config', 'dump', '--format', '%F "%v";%n', 'Acquire'], { deadlineMs: 10_000 })
  return dump.stdout
    .split('\n')
    .filter((line) => /^Acquire::(https?|socks5h?|mirror|Retries|ForceIPv[46])\b/.test(line))
}

function settings(folder: string, architecture: string): readonly string[] {
  return [
    `Dir "${folder}";`,
    `Dir::State "${folder}";`,
    `Dir::State::lists "${folder}/lists";`,
    `Dir::State::status "${folder}/status";`,
    `Dir::Cache "${folder}";`,
    `Dir::Cache::archives "${folder}/archives";`,
    `Dir::Etc "${folder}/etc";`,
    'Dir::Etc::sourcelist "/dev/null";',
    `Dir::Etc::sourceparts "${folder}/etc/sources.list.d";`,
    `Dir::Etc::parts "${folder}/etc/apt.conf.d";`,
    'Dir::Etc::trusted "/etc/apt/trusted.gpg";',
    'Dir::Etc::trustedparts "/etc/apt/trusted.gpg.d";',
    'Dir::Etc::netrc "/etc/apt/auth.conf";',
    'Dir::Etc::netrcparts "/etc/apt/auth.conf.d";',
    `APT::Architecture "${architecture}";`,
    `APT::Architectures { "${architecture}"; };`,
    'APT::Install-Recommends "false";',
    // Without this, apt run by root hands its downloads to the user _apt, who may not write in a private folder.
    'APT::Sandbox::User "root";',
    'APT::Update::Error-Mode "any";',
    'Acquire::Languages "none";',
    // A mirror may be a frozen copy whose signature on the date has lapsed; the packages are still signed.
    'Acquire::Check-Valid-Until "false";',
    'Acquire::http::Timeout "20";',
    'Acquire::https::Timeout "20";',
    '',
  ]
}

/**
 * Fetches the list of packages. Rejects with REGENT_SETUP_FAILED when the mirror cannot be reached or lacks the suite.
 */
export async function updateLists(apt: PrivateApt): Promise<void> {
  orFail(await aptGet(apt, ['update'], 5 * 60_000), say`the list of Debian packages could not be read`)
}

export interface DownloadPlan {
  readonly count: number
  readonly bytes: number
}

/** What a download of these packages would fetch, dependencies included. */
export async function planDownload(apt: PrivateApt, packages: readonly string[]): Promise<DownloadPlan> {
  const result = await aptGet(apt, ['install', '--print-uris', '-qq', ...packages], 60_000)
  orFail(result, say`the packages ${packages.join(', ')} are not to be had`)
  const sizes = [...result.stdout.matchAll(/^'\S+' \S+ (\d+) /gm)].map(([, size]) => Number(size))
  return { count: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) }
}

/**
 * Downloads them, dependencies included, and gives the paths of the package files, checked by apt against its signed
 * lists.
 */
export async function download(apt: PrivateApt, packages: readonly string[]): Promise<readonly string[]> {
  orFail(
    await aptGet(apt, ['install', '--download-only', ...packages], downloadDeadlineMs),
    say`the Debian packages could not be downloaded`,
  )
  const archives = join(apt.folder, 'archives')
  return (await readdir(archives))
    .filter((name) => name.endsWith('.deb'))
    .sort()
    .map((name) => join(archives, name))
}

/** Bytes that have arrived so far. */
export async function downloadedBytes(apt: PrivateApt): Promise<number> {
  const names = await readdir(join(apt.folder, 'archives'), { recursive: true })
  const sizes = names.map((name) =>
    stat(join(apt.folder, 'archives', name)).then(
      (file) => (file.isFile() ? file.size : 0),
      () => 0,
    ),
  )
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

function aptGet(apt: PrivateApt, parameters: readonly string[], deadlineMs: number): Promise<CommandResult> {
  return runCommand(['apt-get', '--yes', ...parameters], { deadlineMs, env: apt.env })
}

function orFail(result: CommandResult, what: Sayable): void {
  if (!result.ok)
    throw new RegentError('REGENT_SETUP_FAILED', say`${what}: ${reported(aptReason(result.stderr) ?? result.failure)}`)
}

/** The cause among apt's complaints: it ends with "Some index files failed to download", which explains nothing. */
export function aptReason(stderr: string): string | undefined {
  return /^[EW]: (?:Failed to fetch|The repository) .*$/m.exec(stderr)?.[0].slice(3).replace(/\s+/g, ' ').trim()
}
