import {
  anyBoolean,
  anyNumber,
  anyText,
  exactly,
  integer,
  listOf,
  objectWith,
  oneOf,
  optional,
  orNull,
  text,
} from '#common/input/shapes.ts'
import { fits } from '#common/input/fits.ts'
import type { Heartbeat } from '#topology/snapshot/copies.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import { replicatingOf, silentSourceMs, type Replicating } from '#topology/snapshot/replicating.ts'

/** The part of an agent's observation that a router uses. */
export interface AgentWord extends Replicating {
  /** Epoch and role of the assignment that the agent acts by; 0 and null where there is none. */
  readonly epoch: number
  readonly role: 'primary' | 'replica' | null
  readonly promise: number
  /** A person fenced the instance, or the primary is closed for a copy. */
  readonly closed: boolean
  readonly seeding: boolean
  /** `unsure`: the server may be there, and does not answer. */
  readonly server: 'answers' | 'unsure' | 'gone'
  readonly readOnly: boolean
  readonly offline: boolean
  readonly heartbeat: Heartbeat | undefined
  /** Mode `group`: the server's own `server_uuid`, and that of the primary in the view of a member that is ONLINE. */
  readonly group: { readonly uuid: string; readonly primary: string | null } | null
}

const epoch = integer(0, Number.MAX_SAFE_INTEGER - 1)
const figure = optional(orNull(anyNumber))
const most = 1_024

const channelShape = objectWith({
  ioRunning: anyText,
  sqlRunning: anyBoolean,
  filtered: anyBoolean,
  lagSeconds: figure,
  silentMs: orNull(anyNumber),
  appliedUpToMs: optional(anyNumber),
  changedOptions: optional(listOf(objectWith({ name: anyText, seen: anyText }), most)),
})

const groupShape = objectWith({
  state: anyText,
  members: listOf(objectWith({ uuid: anyText, role: anyText, state: anyText }), most),
  lagSeconds: figure,
  appliedUpToMs: optional(anyNumber),
})

/** The part of an observation that a word is made of. */
const observedShape = objectWith({
  process: anyText,
  silentMs: anyNumber,
  stored: objectWith({
    promise: epoch,
    seeding: anyBoolean,
    filterSeen: anyBoolean,
    assignment: orNull(
      objectWith({ epoch, role: oneOf('primary', 'replica'), fenced: anyBoolean, donates: optional(exactly(true)) }),
    ),
  }),
  server: orNull(
    objectWith({
      uuid: text(1, most),
      superReadOnly: anyBoolean,
      readOnly: anyBoolean,
      offlineMode: anyBoolean,
      channel: orNull(channelShape),
      group: optional(groupShape),
    }),
  ),
  heartbeat: optional(objectWith({ atMs: anyNumber, everyMs: anyNumber })),
})

/**
 * The word of an agent. An observation that is damaged gives null: a fact that is missing must not be taken for a no.
 */
export function wordOf(seen: Observation): AgentWord | null {
  if (!fits(observedShape, seen)) return null
  const { stored } = seen
  return {
    ...assignedTo(stored.assignment),
    promise: stored.promise,
    seeding: stored.seeding || seen.seedingProgress !== null,
    server: serverOf(seen),
    ...openness(seen.server),
    ...replicatingOf(seen),
    heartbeat: seen.heartbeat,
    group: groupOf(seen),
  }
}

function assignedTo(assignment: Observation['stored']['assignment']): Pick<AgentWord, 'epoch' | 'role' | 'closed'> {
  if (assignment === null) return { epoch: 0, role: null, closed: false }
  const { epoch, role, fenced, donates } = assignment
  return { epoch, role, closed: fenced || donates === true }
}

function openness(server: Observation['server']): Pick<AgentWord, 'readOnly' | 'offline'> {
  if (server === null) return { readOnly: true, offline: true }
  return { readOnly: server.superReadOnly || server.readOnly, offline: server.offlineMode }
}

function serverOf({ process, server, silentMs }: Observation): AgentWord['server'] {
  if (process === 'dead' || process === 'exiting' || process === 'absent') return 'gone'
  return process === 'running' && server !== null && silentMs < silentSourceMs ? 'answers' : 'unsure'
}

function groupOf({ server }: Observation): AgentWord['group'] {
  if (server?.group === undefined) return null
  const { state, members } = server.group
  const primary = members.find((member) => member.role === 'PRIMARY' && member.state === 'ONLINE')
  return { uuid: server.uuid, primary: state === 'ONLINE' ? (primary?.uuid ?? null) : null }
}
