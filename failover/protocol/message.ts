import {
  byName,
  integer,
  listOf,
  objectOf,
  text,
  type Described,
  type Fields,
  type Shape,
  type Shaped,
} from '#common/input/shapes.ts'
import type { MemberId } from '#topology/snapshot/member.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'

/** Version of the messages between manager and agents. */
export const orderVersion = 1

/** Where an agent streams what it observes. */
export const observationsRoute = '/v1/observations'

/** A follower of what an agent observes. */
export type Follower = 'manager' | 'router'

/** An agent that does not know of followers takes each for a manager. */
export function observationsPath(follower: Follower): string {
  return `${observationsRoute}?follower=${follower}`
}

export function followerIn(path: string): Follower {
  return path === observationsPath('router') ? 'router' : 'manager'
}

/** What messages are made of. Each is checked strictly: an unknown key or a wrong type refuses the whole message. */
export const name = text(1, 64)
export const names = listOf(name, 64)
export const gtids: Shape<GtidText> = text(0, 8_388_608)
/** A `server_uuid`, or '' while unknown. */
export const uuid = text(0, 36)
/** Milliseconds. */
export const duration: Shape<number> = { type: 'number', minimum: 0, maximum: 86_400_000 }
export const count = integer(0, Number.MAX_SAFE_INTEGER)
export const atLeast = (minimum: number): Shape<number> => ({ type: 'integer', minimum })
const address = text(1, 255)

/** Where a peer is reached. */
export const endpoint = objectOf({
  instance: name,
  host: address,
  port: integer(1, 65_535),
  /** `host:port` of its agent. */
  agent: address,
})
export type Endpoint = Shaped<typeof endpoint>
export const endpoints = listOf(endpoint, 64)

export const member: Shape<MemberId> = { type: 'string', minLength: 3, maxLength: 128, pattern: '^[^@]+@[^@]+$' }
export const version = atLeast(1)

const addressed = {
  version,
  cluster: name,
  /** The instance and volume it is meant for; any other refuses it. */
  member,
  epoch: integer(1, Number.MAX_SAFE_INTEGER),
  /** Revision of the record it follows from. */
  revision: count,
}

/** A message of a manager that speaks for an epoch of the record. */
export function message<F extends Fields>(fields: F): Shape<Described<typeof addressed & F>> {
  return objectOf<typeof addressed & F>({ ...addressed, ...fields })
}

export type Addressed = Described<typeof addressed>

/** By replica, its `forgetfulAs`. */
export const forgetful = byName(name)
