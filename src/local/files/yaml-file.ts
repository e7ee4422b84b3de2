import { isMap, isScalar, LineCounter, parseDocument, type Document } from 'yaml'
import { deepestNesting } from '#common/input/bounded-json.ts'
import { badFile, firstLine, readText } from './input-file.ts'
import { reported, say, type Sayable } from '#common/sentence/sentence.ts'

/**
 * As `readText`, parsed as YAML, of which JSON is a part. Aliases are limited, so that a small file cannot grow huge.
 */
export async function readYaml(path: string, what: Sayable): Promise<unknown> {
  return (await readYamlWithLines(path, what)).value
}

/** As `readYaml`, with the line on which the key at the end of a path of keys stands; undefined where it does not. */
export async function readYamlWithLines(
  path: string,
  what: Sayable,
): Promise<{ readonly value: unknown; readonly lineOf: (keys: readonly string[]) => number | undefined }> {
  const text = await readText(path, what)
  const lines = new LineCounter()
  let document: Document
  let value: unknown
  try {
    document = parseDocument(text, { uniqueKeys: true, lineCounter: lines })
    if (document.errors[0] !== undefined) throw document.errors[0]
    value = document.toJS({ maxAliasCount: 100 })
  } catch (error) {
    throw badFile(what, path, say`is not valid YAML: ${firstLine(error)}`, error)
  }
  const wrong = whatIsWrongIn(value)
  if (wrong !== undefined) throw badFile(what, path, reported(wrong))
  if (value === null || value === undefined)
    throw badFile(what, path, say`says nothing: it has no content but white space or comments`)
  return { value, lineOf: (keys) => lineOf(document, lines, keys) }
}

/** Keys that mean something to every object of JavaScript, and to nothing that Regent reads. */
const refusedKeys = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * An alias may lead back to where it stands, and YAML may nest without end: what reads the value later walks it with a
 * stack.
 */
function whatIsWrongIn(value: unknown, depth = 0): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (depth > deepestNesting)
    return `is nested more deeply than ${deepestNesting} levels, or has an alias that leads back to itself`
  for (const [key, inner] of Object.entries(value)) {
    if (refusedKeys.has(key)) return `has the key "${key}", which means nothing here`
    const wrong = whatIsWrongIn(inner, depth + 1)
    if (wrong !== undefined) return wrong
  }
  return undefined
}

function lineOf(document: Document, lines: LineCounter, keys: readonly string[]): number | undefined {
  const mapping = document.getIn(keys.slice(0, -1), true)
  const key = isMap(mapping)
    ? mapping.items.map((pair) => pair.key).find((one) => isScalar(one) && String(one.value) === keys.at(-1))
    : undefined
  return isScalar(key) && key.range ? lines.linePos(key.range[0]).line : undefined
}
