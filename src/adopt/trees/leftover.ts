import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceJson } from '#local/files/durable-file.ts'
import { isMissing, readJsonIfThere } from '#local/files/input-file.ts'
import type { Step } from '#orchestrator/trees/step.ts'
import { say } from '#common/sentence/sentence.ts'

/** What the next manager has to do where a manager dies in the middle of a plan. */
export interface Leftover {
  readonly steps: readonly Step[]
  /** Addresses of the servers by the names of then. */
  readonly servers?: Readonly<Record<string, string>>
  /** Where nobody may lead any more by these steps: what puts everything right again. */
  readonly undo?: readonly Step[]
  /** A server whose GTIDs were about to be emptied: these are said to be executed there, where it says of none. */
  readonly purge?: { readonly at: string; readonly keep: string }
}

/** Kept durably before it resolves; null for nothing. */
export interface Leftovers {
  keep(cluster: string, leftover: Leftover | null): Promise<void>
  read(): Promise<ReadonlyMap<string, Leftover>>
}

export function leftoversIn(folder: string): Leftovers {
  const path = (cluster: string): string => join(folder, `${cluster}.json`)
  return {
    async keep(cluster, leftover) {
      if (leftover === null) return rm(path(cluster), { force: true })
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await replaceJson(path(cluster), { version: 1, ...leftover })
    },
    async read() {
      const names = await readdir(folder).catch((error: unknown) => {
        if (isMissing(error)) return []
        throw error
      })
      const clusters = names.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -5))
      const all = await Promise.all(
        clusters.map(async (name) => [name, await readJsonIfThere(path(name), say`what was begun`)] as const),
      )
      return new Map(all.filter((entry): entry is readonly [string, Leftover] => entry[1] !== undefined))
    },
  }
}
