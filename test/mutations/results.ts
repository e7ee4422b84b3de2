import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** How a mutation was found last. */
export interface Result {
  readonly seed: number
  /** How many were played until then. */
  readonly schedules: number
  readonly seconds: number
  readonly broke: string
}

export type Results = Readonly<Record<string, Result>>

const path = join(import.meta.dirname, 'results.json')

export async function readResults(): Promise<Results> {
  return JSON.parse(await readFile(path, 'utf8')) as Results
}

/** In the order of the list: a change of one shows as a change of one. */
export async function writeResults(results: Results, ids: readonly string[]): Promise<void> {
  const ordered = Object.fromEntries(ids.flatMap((id) => (results[id] ? [[id, results[id]]] : [])))
  await writeFile(path, `${JSON.stringify(ordered, null, 2)}\n`)
}
