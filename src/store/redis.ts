import type { Redis } from 'ioredis'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { realTimers } from '#common/ports/real-world.ts'
import { leadingCellStore, storeDeadlineMs, withDeadline } from './cell-store.ts'
import type { CellName, Cells, Lease } from './cells.ts'
import { RedisConnection } from './redis-connection.ts'
import { parseRedisAddress } from './redis-address.ts'
import { decodeText } from './shape.ts'
import type { LeadingStore } from './store.ts'

export interface RedisStoreOptions {
  /** Also accept a Redis that could lose what it confirmed. */
  readonly allowVolatile?: boolean
  readonly deadlineMs?: number
  /**
   * Managers compete for leadership only with those of the same scope: on one machine a cluster has managers of its
   * own.
   */
  readonly leadershipScope?: string
}

/**
 * A store in one Redis, whose writes are on disk before they are confirmed.
 * @param url see `parseRedisAddress`
 * @throws RegentError `REGENT_STORE_UNSAFE` naming the settings that must change, `REGENT_STORE_UNAVAILABLE`,
 * `REGENT_BAD_REQUEST`
 */
export async function redisStore(url: string, options: RedisStoreOptions = {}): Promise<LeadingStore> {
  const address = parseRedisAddress(url)
  const { allowVolatile = false, deadlineMs = storeDeadlineMs, leadershipScope = 'leader' } = options
  const connection = new RedisConnection(address, { allowVolatile, deadlineMs })
  const limits = { timers: realTimers, deadlineMs }
  try {
    await withDeadline(say`${address.shown}: opening`, limits, (signal) =>
      connection.run(signal, (client) => client.ping()),
    )
  } catch (error) {
    await connection.close()
    throw error
  }
  return leadingCellStore(
    redisCells(connection, address.shown, !allowVolatile),
    redisLease(connection, leadershipScope),
    limits,
  )
}

/** Replication is looked at in the same step as the swap: a replica may have come since the connection was checked. */
const swapScript = `
if ARGV[4] == 'guarded' then
  local replication = redis.call('INFO', 'replication')
  if not replication:find('role:master', 1, true) or not replication:find('connected_slaves:0', 1, true) then return 'unsafe' end
end
if (redis.call('HGET', KEYS[1], 'revision') or '0') ~= ARGV[1] then return 'lost' end
redis.call('HSET', KEYS[1], 'revision', ARGV[2], 'text', ARGV[3])
return 'won'`

/** The token outlives the lease, and every taking that is no renewal raises it. */
const leadScript = `
local leader = redis.call('GET', KEYS[1])
if leader and leader ~= ARGV[1] then return false end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
local token = redis.call('GET', KEYS[2])
if leader and token then return tonumber(token) end
return redis.call('INCR', KEYS[2])`

const resignScript = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return true`

/** A cell is a hash of revision and text. */
function redisCells(connection: RedisConnection, place: string, guarded: boolean): Cells {
  return {
    place,
    whereIs: (name) => ({ object: `the key ${keyOf(name)} of ${place}`, removal: `DEL '${keyOf(name)}' in redis-cli` }),
    read: (name, signal) =>
      connection.run(signal, async (client) => {
        const [revision, text] = await client.hmgetBuffer(keyOf(name), 'revision', 'text')
        if (!revision && !text) return undefined
        if (!revision || !text || !/^[0-9]{1,15}$/.test(revision.toString()))
          throw new RegentError(
            'REGENT_BAD_FILE',
            say`${place}: ${keyOf(name)} has ${revision ? say`the revision "${revision.toString().slice(0, 40)}"` : say`no revision`} and ${text ? say`a` : say`no`} text`,
          )
        return { revision: Number(revision.toString()), text: decodeText(text, say`${place}: ${keyOf(name)}`) }
      }),
    swap: (name, expectedRevision, next, signal) =>
      connection.run(signal, async (client) => {
        const outcome = await client.eval(
          swapScript,
          1,
          keyOf(name),
          expectedRevision,
          next.revision,
          next.text,
          guarded ? 'guarded' : 'volatile',
        )
        if (outcome !== 'unsafe') return outcome === 'won'
        throw new RegentError(
          'REGENT_STORE_UNSAFE',
          say`${place} got a replica or became one since it was checked; nothing was written. INFO replication tells which; REPLICAOF NO ONE there ends it.`,
        )
      }),
    remove: (name, signal) =>
      connection.run(signal, async (client) => {
        await client.del(keyOf(name))
        return true
      }),
    close: () => connection.close(),
  }
}

function redisLease(connection: RedisConnection, scope: string): Lease {
  const leaseKeys = [`regent:{${scope}}:lease`, `regent:{${scope}}:token`] as const
  return {
    lead: (manager, ttlMs, signal) =>
      connection.run(signal, async (client: Redis) => {
        const token = await client.eval(leadScript, 2, ...leaseKeys, manager, Math.ceil(ttlMs))
        return typeof token === 'number' ? { manager, fencingToken: token } : undefined
      }),
    resign: (manager, signal) =>
      connection.run(signal, async (client: Redis) => {
        await client.eval(resignScript, 1, leaseKeys[0], manager)
      }),
  }
}

/** `record.shop` → `regent:{shop}:record`. */
function keyOf(name: CellName): string {
  const [kind, cluster] = name.split('.')
  return `regent:{${cluster ?? ''}}:${kind}`
}
