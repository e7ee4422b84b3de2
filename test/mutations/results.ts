import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

interface Found {
  readonly seconds: number
  readonly broke: string
}

export interface FoundBySchedule extends Found {
  readonly seed: number
  /** How many were played until then. */
  readonly schedules: number
}

/** By a scenario, or by a test beside the code: the same steps each time. */
export interface FoundByScript extends Found {
  readonly script: string
  /** With the names of what it stands in. */
  readonly title: string
}

/** How a mutation was found last. */
export type Result = FoundBySchedule | FoundByScript

export type Results = Readonly<Record<string, Result>>

const path = join(import.meta.dirname, 'results.json')

export function isByScript(result: Result): result is FoundByScript {
  return 'script' in result
}

export async function readResults(): Promise<Results> {
  return JSON.parse(await readFile(path, 'utf8')) as Results
}

/** In the order of the list: a change of one shows as a change of one. */
export async function writeResults(results: Results, ids: readonly string[]): Promise<void> {
  const ordered = Object.fromEntries(ids.flatMap((id) => (results[id] ? [[id, results[id]]] : [])))
  await writeFile(path, `${JSON.stringify(ordered, null, 2)}\n`)
}
