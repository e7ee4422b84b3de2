import { readFile } from 'node:fs/promises'
import { described, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { FarConfig, FarLogin } from '../instance/config.ts'

type Files = Pick<FarConfig, 'user' | 'passwordFile' | 'caFile'>

/**
 * The account at a far server, as its owner has it in files: they are read at each login, since the owner may change
 * them at any moment. While a file cannot be read its text is as it was. Rejects where one never could be: that keeps
 * one agent from its work, and none of those that run in the same process.
 */
export async function loginOf({ user, passwordFile, caFile }: Files): Promise<Omit<FarLogin, 'identity'>> {
  return {
    user,
    password: await latest(async () => (await textOf('password', passwordFile)).split(/\r?\n/, 1)[0] ?? ''),
    authority: caFile === undefined ? undefined : await latest(() => textOf('authority', caFile)),
  }
}

async function latest(read: () => Promise<string>): Promise<() => Promise<string>> {
  let last = await read()
  return async () => (last = await read().catch(() => last))
}

const whatFilesAre = {
  password: (file: string) => say`the password file ${file} of the server’s account`,
  authority: (file: string) => say`the file ${file} of the authority that signed the server’s certificate`,
}

async function textOf(what: keyof typeof whatFilesAre, file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    const why = say`${whatFilesAre[what](file)} cannot be read: ${described(error)}`
    throw new RegentError('REGENT_SECRET_LOST', why, { remedy: 'Put the file back: the agent goes on by itself.' })
  })
}
