import { open, type FileHandle } from 'node:fs/promises'
import { isMap, isScalar, LineCounter, parseDocument, type Document } from 'yaml'
import { RegentError } from '../common/errors.ts'

const limitBytes = 1_048_576

/**
 * The text of a file that a person or another process wrote. Throws `REGENT_BAD_FILE` where it is missing, empty, larger
 * than 1 MiB or not UTF-8: `what` is how the message calls it ("the file given with --hosts").
 */
export async function readText(path: string, what: string): Promise<string> {
  const bytes = await readLimited(path, what)
  if (bytes.length === 0) throw bad(what, path, 'is empty')
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw bad(what, path, 'is not UTF-8 text', error)
  }
}

/** As `readText`, parsed as YAML, of which JSON is a part. Aliases are limited, so that a small file cannot grow huge. */
export async function readYaml(path: string, what: string): Promise<unknown> {
  return (await readYamlWithLines(path, what)).value
}

/** As `readYaml`, with the line on which the key at the end of a path of keys stands; undefined where it does not. */
export async function readYamlWithLines(path: string, what: string): Promise<{ readonly value: unknown; readonly lineOf: (keys: readonly string[]) => number | undefined }> {
  const text = await readText(path, what)
  const lines = new LineCounter()
  const document = parseDocument(text, { uniqueKeys: true, lineCounter: lines })
  let value: unknown
  try {
    if (document.errors[0] !== undefined) throw document.errors[0]
    value = document.toJS({ maxAliasCount: 100 })
  } catch (error) {
    throw bad(what, path, `is not valid YAML: ${firstLine(error)}`, error)
  }
  if (value === null || value === undefined) throw bad(what, path, 'says nothing: it has no content but white space or comments')
  return { value, lineOf: (keys) => lineOf(document, lines, keys) }
}

function lineOf(document: Document, lines: LineCounter, keys: readonly string[]): number | undefined {
  const mapping = document.getIn(keys.slice(0, -1), true)
  const key = isMap(mapping) ? mapping.items.map((pair) => pair.key).find((one) => isScalar(one) && String(one.value) === keys.at(-1)) : undefined
  return isScalar(key) && key.range ? lines.linePos(key.range[0]).line : undefined
}

/** As `readText`, parsed as JSON. */
export async function readJson(path: string, what: string): Promise<unknown> {
  const text = await readText(path, what)
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw bad(what, path, `is not JSON: ${firstLine(error)}`, error)
  }
}

/** Undefined where the file does not exist. */
export async function readJsonIfThere(path: string, what: string): Promise<unknown> {
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

async function readLimited(path: string, what: string): Promise<Uint8Array> {
  let file: FileHandle
  try {
    file = await open(path, 'r')
  } catch (error) {
    throw bad(what, path, `cannot be opened: ${firstLine(error)}`, error)
  }
  try {
    const stat = await file.stat()
    if (stat.isDirectory()) throw bad(what, path, 'is a folder, not a file')
    const buffer = Buffer.alloc(limitBytes + 1)
    let length = 0
    for (;;) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length)
      length += bytesRead
      if (length > limitBytes) throw bad(what, path, `is larger than ${limitBytes} bytes`)
      if (bytesRead === 0) return buffer.subarray(0, length)
    }
  } finally {
    await file.close()
  }
}

function bad(what: string, path: string, why: string, cause?: unknown): RegentError {
  return new RegentError('REGENT_BAD_FILE', `${what}, ${path}, ${why}`, { cause })
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? ''
}
