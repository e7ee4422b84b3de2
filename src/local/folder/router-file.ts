import { saidOfRouter, type SaidOfRouter } from '#failover/protocol/router-settings.ts'
import { RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import { complaintAbout } from '#common/input/schema-complaint.ts'
import { readYaml } from '../files/yaml-file.ts'

/** The settings of a router that a person wrote. Throws `REGENT_BAD_FILE` with the field and what is allowed. */
export async function readRouterSettings(path: string): Promise<SaidOfRouter> {
  const said = await readYaml(path, say`the file given with --router-config`)
  const complaint = complaintAbout(saidOfRouter, said)
  if (complaint === undefined) return said as SaidOfRouter
  throw new RegentError('REGENT_BAD_FILE', say`the file given with --router-config, ${path}: ${reported(complaint)}`)
}
