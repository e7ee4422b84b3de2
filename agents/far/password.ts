import { readFile } from 'node:fs/promises'
import { described, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { FarConfig } from '../instance/config.ts'

type File = Pick<FarConfig, 'passwordFile'>

/**
 * The password of the account at a far server, as its owner has it in a file: read at each login, since the owner may
 * change it at any moment. While the file cannot be read it is as it was. Rejects where it never could: that keeps one
 * agent from its work, and none of those that run in the same process.
 */
export async function passwordOf(file: File): Promise<() => Promise<string>> {
  let last = await passwordIn(file)
  return async () => (last = await passwordIn(file).catch(() => last))
}

async function passwordIn({ passwordFile }: File): Promise<string> {
  const text = await readFile(passwordFile, 'utf8').catch((error: unknown) => {
    const why = say`the password file ${passwordFile} of the server’s account cannot be read: ${described(error)}`
    throw new RegentError('REGENT_SECRET_LOST', why, { remedy: 'Put the file back: the agent goes on by itself.' })
  })
  return text.split(/\r?\n/, 1)[0] ?? ''
}
