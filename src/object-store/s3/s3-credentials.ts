import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { described, RegentError } from '#common/errors/errors.ts'
import { say, type Sayable } from '#common/sentence/sentence.ts'
import { readBounded } from '#common/input/bounded-file.ts'

export interface S3Identity {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
  /** Always near: the client asks again before each request, so that a rotated Secret is used at once. */
  readonly expiration: Date
}

const largestFile = 65_536

/**
 * Reads the files of a folder anew. Errors name files, never what is in them.
 * @throws RegentError `REGENT_BACKUP_STORE`
 */
export async function credentialsIn(folder: string): Promise<S3Identity> {
  // The kubelet swaps this link after it has written all files: what is read behind the link belongs together.
  const behind = await realpath(join(folder, '..data')).catch(() => folder)
  const sessionToken = await read(behind, folder, 'sessionToken')
  return {
    accessKeyId: await required(behind, folder, 'accessKeyId'),
    secretAccessKey: await required(behind, folder, 'secretAccessKey'),
    ...(sessionToken !== undefined && sessionToken !== '' && { sessionToken }),
    expiration: new Date(),
  }
}

async function required(behind: string, folder: string, name: string): Promise<string> {
  const text = await read(behind, folder, name)
  if (text !== undefined && text !== '') return text
  const trouble = text === undefined ? say`is not there` : say`is empty`
  throw failure(say`${join(folder, name)} ${trouble}: put the credentials of the store into that file`)
}

async function read(behind: string, folder: string, name: string): Promise<string | undefined> {
  try {
    const text = (await readBounded(join(behind, name), largestFile)).toString().trim()
    // A header cannot hold anything else, and Node's complaint would repeat the value.
    if (/^[\x21-\x7e]*$/.test(text)) return text
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw failure(say`${join(folder, name)} cannot be read: ${described(error)}`)
  }
  throw failure(
    say`${join(folder, name)} has spaces or other characters that no credential has: write the credential alone`,
  )
}

function failure(message: Sayable): RegentError {
  return new RegentError('REGENT_BACKUP_STORE', say`Credentials of the store of backups: ${message}.`)
}
