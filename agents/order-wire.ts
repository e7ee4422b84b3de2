import { Type, type TSchema } from 'typebox'
import { RegentError } from '../src/common/errors.ts'
import { complaintAbout } from '../src/common/schema-complaint.ts'
import { orderVersion } from '../failover/order.ts'

/** The shapes of orders on the wire, checked strictly: an unknown key or a wrong type refuses the whole order. */
const name = Type.String({ minLength: 1, maxLength: 64 })
const address = Type.String({ minLength: 1, maxLength: 255 })
const gtids = Type.String({ maxLength: 8_388_608 })
const duration = Type.Number({ minimum: 0, maximum: 86_400_000 })
const endpoint = Type.Object({ instance: name, host: address, port: Type.Integer({ minimum: 1, maximum: 65_535 }), agent: address }, { additionalProperties: false })
const peers = Type.Array(endpoint, { maxItems: 64 })
const uuid = Type.String({ maxLength: 36 })
const instances = Type.Array(name, { maxItems: 64 })

const base = {
  version: Type.Integer({ minimum: 1 }),
  cluster: name,
  member: Type.String({ minLength: 3, maxLength: 128, pattern: '^[^@]+@[^@]+$' }),
  epoch: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  revision: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
}

function message(fields: Record<string, TSchema>): TSchema {
  return Type.Object({ ...base, ...fields }, { additionalProperties: false })
}

const primary = message({
  role: Type.Literal('primary'),
  peers,
  fenced: Type.Boolean(),
  counted: instances,
  countedUuids: Type.Optional(Type.Record(name, uuid)),
  catchingUp: instances,
  connected: Type.Optional(instances),
  acks: Type.Integer({ minimum: 0, maximum: 15 }),
  mayRestart: Type.Boolean(),
  donates: Type.Optional(Type.Literal(true)),
})

const replica = message({
  role: Type.Literal('replica'),
  peers,
  fenced: Type.Boolean(),
  source: endpoint,
  counted: Type.Boolean(),
  sourceUuid: uuid,
  sourceHolds: gtids,
  sourcePurged: gtids,
  sourceReady: Type.Optional(Type.Boolean()),
})

const schemas = {
  promise: message({ after: gtids, waitMs: duration, keepReceiverFrom: Type.Optional(name), prepare: Type.Optional(Type.Boolean()) }),
  demote: message({ graceMs: duration, deadlineMs: duration }),
  fetch: message({ from: endpoint, until: gtids, deadlineMs: duration }),
  reseed: message({ donor: endpoint, source: endpoint, destroys: gtids, sourceHolds: gtids, peers }),
  renounce: message({ incarnation: name }),
  passwords: message({ generation: Type.String({ pattern: '^[0-9a-f]{0,64}$' }), old: Type.Union([Type.Literal('kept'), Type.Literal('discarded')]) }),
  lease: message({ question: Type.Integer({ minimum: 0 }) }),
  leaseVote: Type.Object({ version: base.version, cluster: name, asking: name, epoch: Type.Integer({ minimum: 0 }) }, { additionalProperties: false }),
} as const

export type WireName = keyof typeof schemas | 'assign'

/** Checks a parsed body. Throws `REGENT_BAD_REQUEST` naming field, value and what is allowed, or `REGENT_NEWER_VERSION`. */
export function checkWire(wireName: WireName, body: unknown): void {
  const version = (body as { version?: unknown } | null)?.version
  if (typeof version === 'number' && version > orderVersion) {
    throw new RegentError('REGENT_NEWER_VERSION', `${wireName} has version ${version}, this agent understands up to ${orderVersion}`)
  }
  const complaint = complaintAbout(schemaFor(wireName, body), body)
  if (complaint !== undefined) throw new RegentError('REGENT_BAD_REQUEST', `${wireName}: ${complaint}`)
}

function schemaFor(wireName: WireName, body: unknown): TSchema {
  if (wireName !== 'assign') return schemas[wireName]
  return (body as { role?: unknown } | null)?.role === 'primary' ? primary : replica
}
