import { open } from 'node:fs/promises'
import { RegentError } from '../../common/errors.ts'
import { findCluster } from '../../local/cluster-index.ts'
import { firstLine } from '../../local/input-file.ts'
import { instanceFor, runClient } from './mysql-client.ts'

export interface SqlOptions {
  readonly on?: string
  readonly file?: string
}

/** Runs the mysql client with this process's terminal, or with the statements of a file. */
export async function sql(name: string | undefined, { on, file }: SqlOptions): Promise<void> {
  const found = await findCluster(name)
  const instance = await instanceFor(found, on)
  if (file === undefined) {
    process.exitCode = (await runClient(found, instance, { program: 'mysql', parameters: [], stdio: 'inherit' })).code
    return
  }
  const input = await open(file, 'r').catch((error: unknown) => {
    throw new RegentError('REGENT_BAD_FILE', `the file given with --file, ${file}, cannot be opened: ${firstLine(error)}`, { cause: error })
  })
  try {
    if ((await input.stat()).isDirectory()) throw new RegentError('REGENT_BAD_FILE', `the file given with --file, ${file}, is a folder, not a file`)
    // Values may hold any byte, also those that end a line elsewhere.
    process.exitCode = (await runClient(found, instance, { program: 'mysql', parameters: ['--binary-mode'], stdio: [input.fd, 'inherit', 'inherit'] })).code
  } finally {
    await input.close()
  }
}
