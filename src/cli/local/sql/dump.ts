import { open, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import { findCluster, type FoundCluster } from '#local/clusters/cluster-index.ts'
import type { LocalInstance } from '#local/folder/cluster-file.ts'
import { firstLine } from '#local/files/input-file.ts'
import { instanceFor, runClient } from './mysql-client.ts'

export interface DumpOptions {
  readonly on?: string
  /** `schema.table`, or `schema.*`. */
  readonly table?: string
  readonly file?: string
}

/** Schemas of the server and of Regent: every cluster has its own. */
const notDumped = ['mysql', 'sys', 'information_schema', 'performance_schema', 'regent']

/**
 * Arguments for a dump of one moment of all InnoDB tables, without a lock that a write would wait for; without GTIDs,
 * so that the cluster where the dump is read in gives its own; bytes as hexadecimal, so that the text survives every
 * character set.
 */
const parameters = ['--single-transaction', '--set-gtid-purged=OFF', '--triggers', '--hex-blob']
/** Names follow after `--`: a database may be named like an option. */
const ofDatabases = ['--routines', '--events', '--databases', '--']

/** What is dumped: arguments of mysqldump, and what stands before its output. */
interface Dumped {
  readonly what: readonly string[]
  readonly head: string
}

/**
 * Writes every database of people's, one of them, or one table as SQL, to the file or to standard output. A file
 * appears whole or not at all; a pipe or a device is written to.
 */
export async function dump(name: string | undefined, { on, file, table }: DumpOptions): Promise<void> {
  const found = await findCluster(name)
  const instance = await instanceFor(found, on)
  const { what, head } = table === undefined ? await allOf(found, instance) : onlyOf(table)
  const dumpTo = async (output: number | 'inherit'): Promise<number> =>
    (
      await runClient(found, instance, {
        program: 'mysqldump',
        parameters: [...parameters, ...what],
        stdio: ['ignore', output, 'inherit'],
      })
    ).code
  if (file === undefined) {
    process.stdout.write(head)
    process.exitCode = await dumpTo('inherit')
    return
  }
  await intoFile(file, async (output) => {
    await output.write(head)
    if ((await dumpTo(output.fd)) !== 0)
      throw new RegentError(
        'REGENT_REFUSED',
        say`mysqldump of ${instance.name} failed, as it says above; ${file} was not written`,
      )
  })
}

async function intoFile(file: string, write: (output: FileHandle) => Promise<void>): Promise<void> {
  // Where a link leads. A file that is not there yet has its own name.
  const place = await realpath(file).catch(() => file)
  const isFile = await stat(place).then(
    (found) => found.isFile(),
    () => true,
  )
  const draft = isFile ? `${place}.${process.pid}.new` : place
  const output = await open(draft, isFile ? 'wx' : 'w', 0o600).catch((error: unknown) => {
    throw new RegentError(
      'REGENT_BAD_FILE',
      say`the file given with --file, ${file}, cannot be written: ${firstLine(error)}`,
      { cause: error },
    )
  })
  try {
    await write(output)
    if (!isFile) return
    await output.sync()
    await rename(draft, place)
  } finally {
    await output.close()
    if (isFile) await rm(draft, { force: true })
  }
}

async function allOf(found: FoundCluster, instance: LocalInstance): Promise<Dumped> {
  return { what: [...ofDatabases, ...(await databasesOf(found, instance))], head: '' }
}

/** mysqldump names no schema where it dumps a table. Throws `REGENT_BAD_REQUEST`. */
function onlyOf(words: string): Dumped {
  const [, schema = '', table = ''] = /^([^.]+)\.([^.]+)$/.exec(words) ?? []
  if (schema === '' || notDumped.includes(schema))
    throw new RegentError(
      'REGENT_BAD_REQUEST',
      say`--table is "${reported(words)}": write schema.table, such as app.orders, or 'app.*' for one schema; those of MySQL and Regent are not dumped`,
    )
  if (table === '*') return { what: [...ofDatabases, schema], head: '' }
  return { what: ['--', schema, table], head: `USE \`${schema.replaceAll('`', '``')}\`;\n` }
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
      say`${instance.name} does not say which databases it has, as the client says above`,
    )
  const databases = output.split('\n').filter((line) => line !== '')
  if (databases.length === 0)
    throw new RegentError(
      'REGENT_REFUSED',
      say`${instance.name} has no database but those of MySQL and Regent: there is nothing to dump`,
    )
  return databases
}
