import { open, stat, type FileHandle } from 'node:fs/promises'
import { isatty } from 'node:tty'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { findCluster } from '#local/clusters/cluster-index.ts'
import { firstLine } from '#local/files/input-file.ts'
import { instanceFor, runClient } from './mysql-client.ts'
import { UnreplicatedStatements } from './unreplicated-statements.ts'

export interface SqlOptions {
  readonly on?: string
  readonly file?: string
  readonly execute?: string
}

/** Runs the mysql client with this process's terminal, with the statements that are given, or with those of a file. */
export async function sql(name: string | undefined, { on, file, execute }: SqlOptions): Promise<void> {
  const found = await findCluster(name)
  const instance = await instanceFor(found, on)
  if (file === undefined) {
    const parameters = execute === undefined ? [] : [`--execute=${execute}`]
    process.exitCode = (await runClient(found, instance, { program: 'mysql', parameters, stdio: 'inherit' })).code
    return
  }
  const input = await openStatements(file)
  try {
    const filter = new UnreplicatedStatements()
    // Values may hold any byte, also those that end a line elsewhere.
    process.exitCode = (
      await runClient(found, instance, {
        program: 'mysql',
        parameters: ['--binary-mode'],
        stdio: ['pipe', 'inherit', 'inherit'],
        input: passing(input, filter),
      })
    ).code
    if (filter.leftOut.size > 0) process.stderr.write(`${whatWasLeftOut(file, [...filter.leftOut])}\n`)
  } finally {
    await input.close()
  }
}

async function* passing(input: FileHandle, filter: UnreplicatedStatements): AsyncGenerator<Buffer> {
  for await (const part of input.createReadStream({ autoClose: false })) yield filter.push(part as Buffer)
  yield filter.end()
}

function whatWasLeftOut(file: string, variables: readonly string[]): string {
  const statements = variables.map((name) => `SET ${name}`).join(' and ')
  return `${statements} in ${file} were left out: what is read in has GTIDs of this cluster, and its replicas get it`
}

/**
 * A file, a pipe, a terminal or /dev/null. The client would read a device such as /dev/zero without end, as one line.
 * Throws `REGENT_BAD_FILE`.
 */
export async function openStatements(file: string): Promise<FileHandle> {
  const called = say`the file given with --file, ${file},`
  const input = await open(file, 'r').catch((error: unknown) => {
    throw new RegentError('REGENT_BAD_FILE', say`${called} cannot be opened: ${firstLine(error)}`, { cause: error })
  })
  const given = await input.stat()
  const isEndless = given.isCharacterDevice() && !isatty(input.fd) && given.rdev !== (await stat('/dev/null')).rdev
  if (!given.isDirectory() && !isEndless) return input
  await input.close()
  throw new RegentError('REGENT_BAD_FILE', say`${called} is a ${isEndless ? say`device` : say`folder`}, not a file`)
}
