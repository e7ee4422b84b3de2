import { closeSync, openSync } from 'node:fs'
import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { randomBytes } from 'node:crypto'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { frugalEnvironment } from '#common/process/frugal-environment.ts'
import { usableVersion } from '#common/mysql/mysql-version.ts'
import { agentAccountsAnew, initialStatements, restoredStatements } from '../instance/accounts.ts'
import type { AgentConfig } from '../instance/config.ts'
import type { Launcher } from './launcher.ts'
import { sentenceOf, spawnProgram, type RunningProgram } from './running-program.ts'
import { renderServerConfig } from './my-cnf.ts'
import { ensureServerId, writeFolderNumber } from '../instance/server-id.ts'
import type { VolumeLayout } from '../instance/volume-layout.ts'

/** The error with which mysqld says that it ends, and nothing of why. */
export const aborting = 'MY-010119'

/**
 * A server that is asked to restart itself, or told by a service manager to do something, must not: only its agent says
 * so. Nor is it as small as its agent.
 */
const notInherited = [
  ...Object.keys(frugalEnvironment),
  'MYSQLD_PARENT_PID',
  'NOTIFY_SOCKET',
  'MYSQL_PWD',
  'MYSQL_HOME',
  'MYSQL_GROUP_SUFFIX',
]

/**
 * The image of a pod's mysql container may be any: what is in it is asked for its version. Gives it. Rejects with
 * `REGENT_MYSQL_TOO_OLD`, `REGENT_MYSQL_MISSING` or `REGENT_LAUNCHER_SILENT`.
 */
export async function checkProgram({ mysqld }: AgentConfig, launcher: Launcher): Promise<string> {
  const { output } = await launcher.answerOf([...mysqld, '--no-defaults', '--version'])
  return usableVersion(output, say`${mysqld.join(' ')} of the mysql container`)
}

/**
 * Starts mysqld so that it outlives the agent and its terminal: here, or in the mysql container of its pod. Rejects
 * with `REGENT_MYSQL_MISSING`, or `REGENT_LAUNCHER_SILENT`. What it says before it opens its log goes to the error log
 * too, or to that container's.
 */
export async function startMysqld(
  config: AgentConfig,
  layout: VolumeLayout,
  { launcher, options }: { readonly launcher: Launcher | null; readonly options: readonly string[] },
): Promise<RunningProgram> {
  await writeServerConfig(config, layout, await ensureServerId(layout.dataDir, config.instance))
  const command = commandLine(config, layout, options)
  if (launcher) return launcher.run(command)
  const output = openSync(layout.errorLog, 'a', 0o640)
  try {
    return await spawnProgram(command, { cwd: layout.volume, env: environment(), output, detached: true })
  } finally {
    closeSync(output)
  }
}

/**
 * `mysqld --initialize` into `folder`: accounts and Regent's schema included, no GTID used. The passwords are in a 0600
 * file only while it runs. Rejects with `REGENT_SERVER_ERROR` and the server's own words.
 */
export async function runInitialise(
  config: AgentConfig,
  layout: VolumeLayout,
  { folder, launcher }: { readonly folder: string; readonly launcher: Launcher | null },
): Promise<void> {
  await writeServerConfig(config, layout)
  const secret = await secretOf(config)
  const name = `${layout.runDir}/initialise-${randomBytes(6).toString('hex')}`
  const [initFile, log] = [`${name}.sql`, `${name}.log`]
  try {
    await writeFile(
      initFile,
      initialStatements(config.cluster, secret, config.mode)
        .map((statement) => `${statement};\n`)
        .join(''),
      { mode: 0o600, flag: 'wx' },
    )
    const command = commandLine(config, layout, [
      '--initialize-insecure',
      `--init-file=${initFile}`,
      `--datadir=${folder}`,
      `--log-error=${log}`,
      '--disable-log-bin',
      '--super-read-only=OFF',
      '--read-only=OFF',
      '--offline-mode=OFF',
      '--disabled-storage-engines=',
    ])
    const { ended } = await (launcher
      ? launcher.run(command)
      : spawnProgram(command, { cwd: layout.volume, env: environment(), detached: false }))
    const ending = await ended
    if (ending.status !== 0)
      throw new RegentError(
        'REGENT_SERVER_ERROR',
        say`mysqld --initialize in ${folder} ${sentenceOf(ending)}: ${await lastErrorsIn(log)}`,
      )
    // Before the folder takes its place: `--initialize` made a `server_uuid` already.
    await writeFolderNumber(folder)
  } finally {
    await rm(initFile, { force: true })
    await rm(log, { force: true })
  }
}

/**
 * Writes the file by which mysqld makes the agent's accounts right while it starts, and gives the option that names it.
 * Data out of a backup get all accounts of this cluster. The server runs it before anybody can log in, and before it is
 * super read-only (seen on 9.7). The starter of mysqld removes the file: passwords are in it.
 */
export async function accountsOption(
  config: AgentConfig,
  { accountsFile }: VolumeLayout,
  isRestored: boolean,
): Promise<string> {
  const secret = await secretOf(config)
  const statements = isRestored ? restoredStatements(config.cluster, secret, config.mode) : agentAccountsAnew(secret)
  const lines = statements.map((statement) => `${statement};\n`)
  await rm(accountsFile, { force: true })
  await writeFile(accountsFile, lines.join(''), { mode: 0o600, flag: 'wx' })
  return `--init-file=${accountsFile}`
}

/** Takes what processor and disk others leave, where these programs are there. */
const sparing = [
  'sh',
  '-c',
  'for idle in "ionice -c 3" "nice -n 19"; do command -v ${idle%% *} >/dev/null && set -- $idle "$@"; done; exec "$@"',
  'sh',
]

/**
 * Starts a mysqld with an options file of its own, beside the instance's or before that. Rejects as `startMysqld` does.
 * @param spares what others need of this machine
 */
export function startThrowAway(
  config: AgentConfig,
  launcher: Launcher | null,
  { defaultsFile, options, spares }: { defaultsFile: string; options: readonly string[]; spares: boolean },
): Promise<RunningProgram> {
  const asRoot = process.getuid?.() === 0 ? ['--user=root'] : []
  const command = [
    ...(spares ? sparing : []),
    ...config.mysqld,
    `--defaults-file=${defaultsFile}`,
    ...asRoot,
    ...options,
  ]
  if (launcher) return launcher.runBeside(command)
  return spawnProgram(command, { cwd: config.volume, env: environment(), detached: false })
}

async function secretOf({ accountSecretFile }: AgentConfig): Promise<string> {
  return (await readFile(accountSecretFile, 'utf8')).trim()
}

const mostErrors = 3

/**
 * The newest `[ERROR]` lines of a server's log, without their time stamps; '' where there is none. The first of them
 * often has the cause, and the last one what followed.
 * @param from where the part of the log begins that is asked for
 */
export async function lastErrorsIn(path: string, from = 0): Promise<string> {
  const tailBytes = 16_384
  try {
    await using file = await open(path, 'r')
    const { size } = await file.stat()
    const at = Math.max(0, size - tailBytes, from > size ? 0 : from)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(tailBytes), 0, tailBytes, at)
    const lines = buffer.toString('utf8', 0, bytesRead).split('\n')
    const errors = lines.filter((text) => text.includes('[ERROR]'))
    const telling = errors.filter((text) => !text.includes(`[${aborting}]`))
    const told = (telling.length === 0 ? errors : telling).slice(-mostErrors)
    return told.map((line) => line.slice(line.indexOf('[ERROR]')).slice(0, 300)).join('; ')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

async function writeServerConfig(
  config: AgentConfig,
  { runDir, agentDir, serverConfig }: VolumeLayout,
  serverId?: number,
): Promise<void> {
  await mkdir(runDir, { recursive: true, mode: 0o700 })
  await mkdir(agentDir, { recursive: true, mode: 0o700 })
  const draft = `${serverConfig}.new`
  await writeFile(draft, renderServerConfig(config, serverId), { mode: 0o600 })
  await rename(draft, serverConfig)
}

/** The argument that tells this instance's mysqld from every other. */
export function defaultsArgument(layout: VolumeLayout): string {
  return `--defaults-file=${layout.serverConfig}`
}

function commandLine(config: AgentConfig, layout: VolumeLayout, options: readonly string[]): readonly string[] {
  const asRoot = process.getuid?.() === 0 ? ['--user=root'] : []
  return [...config.mysqld, defaultsArgument(layout), ...asRoot, ...options]
}

/**
 * A replica that connects over TLS and names no authority makes OpenSSL read every public one of this machine first,
 * each time: a failover would wait for it. An environment that names a file is left so, as the launcher does.
 */
function environment(): NodeJS.ProcessEnv {
  return {
    SSL_CERT_FILE: '/dev/null',
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !notInherited.includes(name))),
  }
}
