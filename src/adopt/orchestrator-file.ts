import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import { replaceJson } from '#local/files/durable-file.ts'
import { badFile, readJsonIfThere } from '#local/files/input-file.ts'
import type { AdoptedFolder } from './adopted-folder.ts'
import { say } from '#common/sentence/sentence.ts'

const orchestratorSchema = Type.Object(
  {
    version: Type.Literal(1),
    host: Type.String({ minLength: 1 }),
    port: Type.Integer({ minimum: 1, maximum: 65_535 }),
    hostNames: Type.Enum(['address', 'name']),
    readOnly: Type.Boolean(),
    loginFile: Type.Optional(Type.String({ minLength: 1 })),
    also: Type.Optional(Type.Array(Type.String({ minLength: 1 }))),
  },
  { additionalProperties: false },
)

/** How orchestrator’s interface is served over the clusters that are watched. */
export type OrchestratorServed = Static<typeof orchestratorSchema>

/** Undefined where it is not served. Rejects with `REGENT_BAD_FILE`. */
export async function readOrchestratorServed({ orchestrator }: AdoptedFolder): Promise<OrchestratorServed | undefined> {
  const what = say`the file of orchestrator’s interface`
  const value = await readJsonIfThere(orchestrator, what)
  if (value === undefined || Value.Check(orchestratorSchema, value)) return value
  throw badFile(what, orchestrator, say`does not have the expected shape: give --orchestrator-listen again`)
}

/** The manager that watches takes it within a second. */
export async function keepOrchestratorServed(folder: AdoptedFolder, served: OrchestratorServed): Promise<void> {
  await replaceJson(folder.orchestrator, served)
}
