import { readBounded } from '#common/input/bounded-file.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say, type Sayable, type Sentence } from '#common/sentence/sentence.ts'

const limitBytes = 1_048_576

/**
 * The text of a file that a person or another process wrote. Throws `REGENT_BAD_FILE` where it is missing, empty,
 * larger than 1 MiB or not UTF-8: `what` is how the message calls it ("the file given with --hosts").
 */
export async function readText(path: string, what: Sayable): Promise<string> {
  const bytes = await readLimited(path, what)
  if (bytes.length === 0) throw badFile(what, path, say`is empty`)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw badFile(what, path, say`is not UTF-8 text`, error)
  }
}

/** As `readText`, parsed as JSON. */
export async function readJson(path: string, what: Sayable): Promise<unknown> {
  const text = await readText(path, what)
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw badFile(what, path, say`is not JSON: ${firstLine(error)}`, error)
  }
}

/** Undefined where the file does not exist. */
export async function readJsonIfThere(path: string, what: Sayable): Promise<unknown> {
  try {
    return await readJson(path, what)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

export function isMissing(error: unknown): boolean {
  const cause = error instanceof RegentError ? error.cause : error
  return cause instanceof Error && 'code' in cause && cause.code === 'ENOENT'
}

async function readLimited(path: string, what: Sayable): Promise<Uint8Array> {
  try {
    return await readBounded(path, limitBytes)
  } catch (error) {
    throw new RegentError('REGENT_BAD_FILE', said(what, path, say`cannot be read: ${firstLine(error)}`), {
      cause: error,
      remedy:
        'Look at the path that the message names: a file must be there that this user may read, of 1 MiB at most.',
    })
  }
}

export function badFile(what: Sayable, path: string, why: Sayable, cause?: unknown): RegentError {
  return new RegentError('REGENT_BAD_FILE', said(what, path, why), { cause })
}

function said(what: Sayable, path: string, why: Sayable): Sentence {
  return say`${what}, ${path}, ${why}`
}

export function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? ''
}
