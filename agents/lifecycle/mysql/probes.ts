import { heard, reported, say, type Sentence } from '#common/sentence/sentence.ts'
import type { ServerState, WriteProbe } from '#topology/snapshot/observation.ts'
import type { BuiltInAction } from '../built-in/built-in-action.ts'
import { refusal, succeeded, type ActionResult } from '../wire/calls.ts'
import { roleAfterLook, type Role, type RoleParts } from './role.ts'

/**
 * Probes that ask the agent's own observer: no shell is forked, and no statement sent unless the agent has just changed
 * its server.
 */
export function builtInProbes(parts: RoleParts): readonly BuiltInAction[] {
  return [
    { name: 'roleProbe', run: async () => sayRole(await roleAfterLook(parts)) },
    { name: 'healthyProbe', run: async () => sayWhether('healthy', await whyUnhealthy(parts)) },
    { name: 'availableProbe', run: async () => sayWhether('available', await whyUnavailable(parts)) },
  ]
}

/**
 * A success without output is "no role": a manager of KubeBlocks then takes the label away. A failure is "cannot tell":
 * the label stays. The two are never mixed: a frozen primary may go on, and a dead one must not keep its label.
 */
function sayRole(role: Role): ActionResult {
  switch (role.is) {
    case 'none':
      return succeeded(Buffer.alloc(0))
    case 'unknown':
      return refusal('failed', role.why)
    default:
      return succeeded(Buffer.from(role.is))
  }
}

function sayWhether(word: string, why: Sentence | undefined): ActionResult {
  return why === undefined ? succeeded(Buffer.from(word)) : refusal('failed', why)
}

/** What a client's write finds that will not end by itself within moments. */
const unhealthy: ReadonlySet<WriteProbe> = new Set(['stuck', 'diskFull', 'lowSpace', 'readOnlyFilesystem'])

/** Whether mysqld runs, answers, and can write, whatever its role. */
async function whyUnhealthy(parts: RoleParts): Promise<Sentence | undefined> {
  const { process, file } = parts
  if (process.state !== 'running') return say`mysqld is ${process.state}${process.note && say`: ${process.note}`}`
  if (file.current.seeding) return say`this instance is made anew as a copy of another one`
  const role = await roleAfterLook(parts)
  if (role.is === 'unknown') return role.why
  return parts.guards.closed.space ?? whyStuck(parts, unhealthy) ?? whyNotApplying(parts.observer.server)
}

/** Whether clients are served here at this moment in the role that the instance has. */
async function whyUnavailable(parts: RoleParts): Promise<Sentence | undefined> {
  const role = await roleAfterLook(parts)
  if (role.is === 'none' || role.is === 'unknown') return role.why
  return whyStuck(parts, unavailable[role.is]) ?? whyNotApplying(parts.observer.server)
}

/** Clients of a replica read: what stands in the way of writes alone does not matter to them. */
const unavailable: Readonly<Record<'primary' | 'secondary', ReadonlySet<WriteProbe>>> = {
  primary: new Set([...unhealthy, 'locked', 'tooManyConnections']),
  secondary: new Set(['stuck', 'tooManyConnections']),
}

function whyStuck({ observer }: RoleParts, results: ReadonlySet<WriteProbe>): Sentence | undefined {
  const { result, detail } = observer.probe
  return results.has(result)
    ? say`a write does not go through (${result})${detail === '' ? '' : say`: ${heard(detail)}`}`
    : undefined
}

/** A replica whose applier stopped answers, and with older and older data. A group has no such channel. */
function whyNotApplying(server: ServerState | null): Sentence | undefined {
  const channel = server?.channel ?? null
  if (channel === null || channel.sqlRunning || server?.superReadOnly !== true) return undefined
  return say`replication does not apply${channel.sqlError === '' ? '' : say`: ${reported(channel.sqlError)}`}`
}
