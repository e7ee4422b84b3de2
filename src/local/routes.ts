import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { RegentError } from '../common/errors.ts'
import type { PrimaryRoute } from '../common/platform.ts'
import { replaceJson } from './durable-file.ts'
import { refuseNewer } from './file-version.ts'
import { readJsonIfThere } from './input-file.ts'

const routesVersion = 1
const routesSchema = Type.Object({
  version: Type.Literal(1),
  primary: Type.Object({
    epoch: Type.Integer({ minimum: 0 }),
    instance: Type.String(),
    host: Type.String(),
    port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  }),
})

/** Where the primary is, as it was published last; undefined before the first time. */
export async function readRoute(path: string): Promise<PrimaryRoute | undefined> {
  const value = await readJsonIfThere(path, 'the published routes')
  if (value === undefined) return undefined
  refuseNewer(path, value, routesVersion)
  if (!Value.Check(routesSchema, value)) throw new RegentError('REGENT_BAD_FILE', `${path} is damaged; it holds {version, primary: {epoch, instance, host, port}}`)
  return value.primary
}

/** Moves the route to the primary in one rename (safety rule 7). False, and nothing written, when a newer epoch is published. */
export async function publishRoute(path: string, route: PrimaryRoute): Promise<boolean> {
  const before = await readRoute(path)
  if (before !== undefined && before.epoch > route.epoch) return false
  if (before === undefined || !Value.Equal(before, route)) await replaceJson(path, { version: routesVersion, primary: route })
  return true
}
