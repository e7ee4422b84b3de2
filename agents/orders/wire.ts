import { Compile, type Validator } from 'typebox/schema'
import { RegentError } from '../../src/common/errors/errors.ts'
import { exactObject, integer, text, type JsonSchema } from '../../src/common/input/json-schema.ts'
import { complaintAbout } from '../../src/common/input/schema-complaint.ts'
import { orderVersion } from '../../failover/protocol/order.ts'

/** The shapes of orders on the wire, checked strictly: an unknown key or a wrong type refuses the whole order. */
const anyBoolean = { type: 'boolean' }
const name = text(1, 64)
const address = text(1, 255)
const gtids = text(0, 8_388_608)
const duration = { type: 'number', minimum: 0, maximum: 86_400_000 }
const endpoint = exactObject({ instance: name, host: address, port: integer(1, 65_535), agent: address })
const peers = { type: 'array', items: endpoint, maxItems: 64 }
const uuid = text(0, 36)
const instances = { type: 'array', items: name, maxItems: 64 }
const forgetful = { type: 'object', patternProperties: { '^.{1,64}$': name }, additionalProperties: false }
const compare = exactObject({
  question: integer(0, Number.MAX_SAFE_INTEGER),
  held: {
    type: 'object',
    patternProperties: { '^.{1,64}$': exactObject({ as: text(0, 256), gtids }) },
    additionalProperties: false,
  },
})

const base = {
  version: { type: 'integer', minimum: 1 },
  cluster: name,
  member: { ...text(3, 128), pattern: '^[^@]+@[^@]+$' },
  epoch: integer(1, Number.MAX_SAFE_INTEGER),
  revision: integer(0, Number.MAX_SAFE_INTEGER),
}

function message(fields: Readonly<Record<string, JsonSchema>>, optional: readonly string[] = []): JsonSchema {
  return exactObject({ ...base, ...fields }, optional)
}

const group = exactObject({
  name: { type: 'string', pattern: '^[0-9a-f-]{36}$' },
  does: { enum: ['form', 'join', 'stayOut'] },
  consistency: text(1, 32),
})

const primary = message(
  {
    role: { const: 'primary' },
    peers,
    fenced: anyBoolean,
    counted: instances,
    countedUuids: { type: 'object', patternProperties: { '^.{1,64}$': uuid }, additionalProperties: false },
    catchingUp: instances,
    connected: instances,
    acks: integer(0, 15),
    mayRestart: anyBoolean,
    donates: { const: true },
    run: name,
    elected: gtids,
    group,
  },
  ['countedUuids', 'connected', 'donates', 'run', 'elected', 'group'],
)

const replica = message(
  {
    role: { const: 'replica' },
    peers,
    fenced: anyBoolean,
    source: endpoint,
    counted: anyBoolean,
    sourceUuid: uuid,
    sourceHolds: gtids,
    sourcePurged: gtids,
    sourceReady: anyBoolean,
    catchUpFor: name,
    errant: gtids,
    passedOver: { const: true },
    run: name,
    group,
  },
  ['sourceReady', 'catchUpFor', 'errant', 'passedOver', 'run', 'group'],
)

const schemas = {
  promise: message({ after: gtids, waitMs: duration, keepReceiverFrom: name, prepare: anyBoolean }, [
    'keepReceiverFrom',
    'prepare',
  ]),
  demote: message({ graceMs: duration, deadlineMs: duration, electUuid: uuid }, ['electUuid']),
  fetch: message({ from: endpoint, until: gtids, deadlineMs: duration }),
  reseed: message(
    {
      donor: endpoint,
      source: endpoint,
      destroys: gtids,
      sourceHolds: gtids,
      errant: gtids,
      peers,
      beside: { const: true },
    },
    ['beside', 'errant'],
  ),
  renounce: message({ incarnation: name }),
  passwords: message({
    generation: { type: 'string', pattern: '^[0-9a-f]{0,64}$' },
    old: { enum: ['kept', 'discarded'] },
  }),
  empty: message({ of: name, gtids }),
  expel: message({ silent: endpoint }),
  lease: message({ question: { type: 'integer', minimum: 0 }, forgetful }, ['forgetful']),
  word: message({ forgetful, compare }, ['forgetful', 'compare']),
  answer: exactObject({
    version: base.version,
    cluster: name,
    member: base.member,
    id: name,
    outcome: { enum: ['done', 'refused', 'timedOut'] },
    sentence: text(0, 16_384),
  }),
  leaving: exactObject({ version: base.version, cluster: name, instance: name, leaves: anyBoolean }),
  leaseVote: exactObject({
    version: base.version,
    cluster: name,
    asking: name,
    epoch: { type: 'integer', minimum: 0 },
  }),
} as const

export type WireName = keyof typeof schemas | 'assign'

/**
 * Checks a parsed body. Throws `REGENT_BAD_REQUEST` naming field, value and what is allowed, or `REGENT_NEWER_VERSION`.
 */
export function checkWire(wireName: WireName, body: unknown): void {
  const version = (body as { version?: unknown } | null)?.version
  if (typeof version === 'number' && version > orderVersion) {
    throw new RegentError(
      'REGENT_NEWER_VERSION',
      `${wireName} has version ${version}, this agent understands up to ${orderVersion}`,
    )
  }
  const schema = schemaFor(wireName, body)
  if (compiled(schema).Check(body)) return
  const complaint = complaintAbout(schema, body) ?? 'does not have the expected shape'
  throw new RegentError('REGENT_BAD_REQUEST', `${wireName}: ${complaint}`)
}

const validators = new Map<JsonSchema, Validator>()

/** A schema becomes a function with the first order of its kind: to interpret the schema costs ten times as much. */
function compiled(schema: JsonSchema): Validator {
  const known = validators.get(schema)
  if (known !== undefined) return known
  const validator = Compile(schema)
  validators.set(schema, validator)
  return validator
}

function schemaFor(wireName: WireName, body: unknown): JsonSchema {
  if (wireName !== 'assign') return schemas[wireName]
  return (body as { role?: unknown } | null)?.role === 'primary' ? primary : replica
}
