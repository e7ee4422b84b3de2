import { Type } from 'typebox'
import { Value } from 'typebox/value'
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

const integer = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER - 1 })
const figure = Type.Optional(Type.Union([Type.Number(), Type.Null()]))

const channelSchema = Type.Object({
  ioRunning: Type.String(),
  sqlRunning: Type.Boolean(),
  filtered: Type.Boolean(),
  lagSeconds: figure,
  silentMs: Type.Union([Type.Number(), Type.Null()]),
  appliedUpToMs: Type.Optional(Type.Number()),
  changedOptions: Type.Optional(Type.Array(Type.Object({ name: Type.String(), seen: Type.String() }))),
})

const groupSchema = Type.Object({
  state: Type.String(),
  members: Type.Array(Type.Object({ uuid: Type.String(), role: Type.String(), state: Type.String() })),
  lagSeconds: figure,
  appliedUpToMs: Type.Optional(Type.Number()),
})

/** The part of an observation that a word is made of. */
const observedSchema = Type.Object({
  process: Type.String(),
  silentMs: Type.Number(),
  stored: Type.Object({
    promise: integer,
    seeding: Type.Boolean(),
    filterSeen: Type.Boolean(),
    assignment: Type.Union([
      Type.Object({
        epoch: integer,
        role: Type.Union([Type.Literal('primary'), Type.Literal('replica')]),
        fenced: Type.Boolean(),
        donates: Type.Optional(Type.Literal(true)),
      }),
      Type.Null(),
    ]),
  }),
  server: Type.Union([
    Type.Object({
      uuid: Type.String({ minLength: 1 }),
      superReadOnly: Type.Boolean(),
      readOnly: Type.Boolean(),
      offlineMode: Type.Boolean(),
      channel: Type.Union([channelSchema, Type.Null()]),
      group: Type.Optional(groupSchema),
    }),
    Type.Null(),
  ]),
  heartbeat: Type.Optional(Type.Object({ atMs: Type.Number(), everyMs: Type.Number() })),
})

/**
 * The word of an agent. An observation that is damaged gives null: a fact that is missing must not be taken for a no.
 */
export function wordOf(seen: Observation): AgentWord | null {
  if (!Value.Check(observedSchema, seen)) return null
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
