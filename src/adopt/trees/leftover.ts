import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { replaceJson } from '#local/files/durable-file.ts'
import { refuseNewer } from '#local/files/file-version.ts'
import { badFile, readJsonIfThere } from '#local/files/input-file.ts'
import type { Step } from '#orchestrator/trees/step.ts'
import { say } from '#common/sentence/sentence.ts'

/** What the next manager has to do where a manager dies in the middle of a plan. */
export interface Leftover {
  readonly steps: readonly Step[]
  /** Addresses of the servers by the names of then. */
  readonly servers?: Readonly<Record<string, string>>
  /** Where nobody may lead any more by these steps: what puts everything right again. */
  readonly undo?: readonly Step[]
  /** Servers beside which nobody was to lead: each was seen to be gone. */
  readonly gone?: readonly string[]
  /** A server whose GTIDs were about to be emptied: these are said to be executed there, where it says of none. */
  readonly purge?: { readonly at: string; readonly keep: string }
}

/** Kept durably before it resolves; null for nothing. */
export interface Leftovers {
  keep(cluster: string, leftover: Leftover | null): Promise<void>
  /** Rejects with `REGENT_BAD_FILE` and `REGENT_NEWER_VERSION`. */
  read(cluster: string): Promise<Leftover | null>
}

const version = 1
const steps = Type.Array(Type.Object({ do: Type.String(), at: Type.String() }))
/** What a step says beside that nobody but this program writes. */
const leftoverSchema = Type.Object({ version: Type.Literal(version), steps, undo: Type.Optional(steps) })

export function leftoversIn(folder: string): Leftovers {
  const path = (cluster: string): string => join(folder, `${cluster}.json`)
  return {
    async keep(cluster, leftover) {
      if (leftover === null) return rm(path(cluster), { force: true })
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await replaceJson(path(cluster), { version, ...leftover })
    },
    async read(cluster) {
      const [file, what] = [path(cluster), say`what was begun`]
      const value = await readJsonIfThere(file, what)
      if (value === undefined) return null
      refuseNewer(file, value, version)
      if (Value.Check(leftoverSchema, value)) return value as Leftover
      throw badFile(what, file, say`does not have the expected shape: look at the servers, then remove that file`)
    },
  }
}
