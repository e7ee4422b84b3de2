import { Compile, type Validator } from 'typebox/schema'
import { orderVersion } from '#failover/protocol/message.ts'
import { orders, type Order, type OrderName } from '#failover/protocol/order.ts'
import { words, type Word, type WordName } from '#failover/protocol/word.ts'
import { RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import { complaintAbout } from '#common/input/schema-complaint.ts'
import type { JsonSchema } from '#common/input/json-schema.ts'
import type { Shape } from '#common/input/shapes.ts'

/**
 * A parsed body as the order that it must be. Throws `REGENT_BAD_REQUEST` naming field, value and what is allowed, or
 * `REGENT_NEWER_VERSION`.
 */
export function readOrder<N extends OrderName>(name: N, body: unknown): Order<N> {
  return read(name, body, orders[name].shapeOf(body))
}

/** A parsed body as the word that it must be. Throws as `readOrder` does. */
export function readWord<N extends WordName>(name: N, body: unknown): Word<N> {
  return read(name, body, words[name].shape)
}

function read<T>(name: OrderName | WordName, body: unknown, shape: Shape<T>): T {
  const version = (body as { version?: unknown } | null)?.version
  if (typeof version === 'number' && version > orderVersion) {
    throw new RegentError(
      'REGENT_NEWER_VERSION',
      say`${name} has version ${version}, this agent understands up to ${orderVersion}`,
    )
  }
  if (fits(shape, body)) return body
  throw new RegentError(
    'REGENT_BAD_REQUEST',
    say`${name}: ${reported(complaintAbout(shape, body) ?? 'does not have the expected shape')}`,
  )
}

function fits<T>(shape: Shape<T>, body: unknown): body is T {
  return compiled(shape).Check(body)
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
