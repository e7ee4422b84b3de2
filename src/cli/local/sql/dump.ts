import { open, rename, rm } from 'node:fs/promises'
import { RegentError } from '#common/errors/errors.ts'
import { findCluster, type FoundCluster } from '#local/clusters/cluster-index.ts'
import type { LocalInstance } from '#local/folder/cluster-file.ts'
import { firstLine } from '#local/files/input-file.ts'
import { instanceFor, runClient } from './mysql-client.ts'

export interface DumpOptions {
  readonly on?: string
  readonly file?: string
}

/** Schemas of the server and of Regent: every cluster has its own. */
const notDumped = ['mysql', 'sys', 'information_schema', 'performance_schema', 'regent']

/**
 * One moment of all InnoDB tables, without a lock that a write would wait for; without GTIDs, so that the cluster where
 * it is read in gives its own; bytes as hexadecimal, so that the text survives every character set.
 */
const parameters = [
  '--single-transaction',
  '--set-gtid-purged=OFF',
  '--routines',
  '--triggers',
  '--events',
  '--hex-blob',
  '--databases',
]

/** Writes every database of people's as SQL, to the file or to standard output. A file appears whole or not at all. */
export async function dump(name: string | undefined, { on, file }: DumpOptions): Promise<void> {
  const found = await findCluster(name)
  const instance = await instanceFor(found, on)
  const databases = await databasesOf(found, instance)
  if (file === undefined) {
    process.exitCode = (
      await runClient(found, instance, {
        program: 'mysqldump',
        parameters: [...parameters, ...databases],
        stdio: ['ignore', 'inherit', 'inherit'],
      })
    ).code
    return
  }
  const draft = `${file}.${process.pid}.new`
  const output = await open(draft, 'wx', 0o600).catch((error: unknown) => {
    throw new RegentError(
      'REGENT_BAD_FILE',
      `the file given with --file, ${file}, cannot be written: ${firstLine(error)}`,
      { cause: error },
    )
  })
  try {
    const { code } = await runClient(found, instance, {
      program: 'mysqldump',
      parameters: [...parameters, ...databases],
      stdio: ['ignore', output.fd, 'inherit'],
    })
    if (code !== 0)
      throw new RegentError(
        'REGENT_REFUSED',
        `mysqldump of ${instance.name} failed, as it says above; ${file} was not written`,
      )
    await output.sync()
    await rename(draft, file)
  } finally {
    await output.close()
    await rm(draft, { force: true })
  }
}

async function databasesOf(found: FoundCluster, instance: LocalInstance): Promise<readonly string[]> {
  const names = notDumped.map((schema) => `'${schema}'`).join(', ')
  const statement = `SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME NOT IN (${names}) ORDER BY 1`
  const { code, output } = await runClient(found, instance, {
    program: 'mysql',
    parameters: ['--batch', '--raw', '--skip-column-names', `--execute=${statement}`],
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (code !== 0)
    throw new RegentError(
      'REGENT_REFUSED',
      `${instance.name} does not say which databases it has, as the client says above`,
    )
  const databases = output.split('\n').filter((line) => line !== '')
  if (databases.length === 0)
    throw new RegentError(
      'REGENT_REFUSED',
      `${instance.name} has no database but those of MySQL and Regent: there is nothing to dump`,
    )
  return databases
}
