import { isIP } from 'node:net'
import type { RedisOptions } from 'ioredis'
import { RegentError } from '#common/errors/errors.ts'
import { say, type Sayable } from '#common/sentence/sentence.ts'

/** Where a Redis is, and how to log in. */
export interface RedisAddress {
  /** `redis://host:port/db`: for people, without user and password. */
  readonly shown: string
  readonly options: RedisLogin
}

type RedisLogin = Pick<RedisOptions, 'host' | 'port' | 'db' | 'username' | 'password' | 'tls'>

const form = say`redis://[user:password@]host[:port][/database], or rediss:// for TLS`

/**
 * Reads `redis://[user:password@]host[:port][/database]`; `rediss:` is the same over TLS, with the certificate checked
 * against the host's name. Errors never repeat the URL, since it may hold a password.
 * @throws RegentError `REGENT_BAD_REQUEST`
 */
export function parseRedisAddress(text: string): RedisAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !['redis:', 'rediss:'].includes(url.protocol) || url.hostname === '')
    throw refusal(say`it is not of that form`)
  if (url.search !== '' || url.hash !== '') throw refusal(say`it has parameters, and none are known`)
  const db = databaseIn(url)
  const port = Number(url.port || 6379)
  return {
    shown: `${url.protocol}//${url.hostname}:${port}/${db}`,
    options: { port, db, ...hostIn(url), ...loginIn(url) },
  }
}

function databaseIn(url: URL): number {
  const digits = /^\/?([0-9]{0,5})$/.exec(url.pathname)?.[1]
  // Not shown: after a / that should have been percent-encoded it could be the rest of a password.
  if (digits === undefined)
    throw refusal(say`the database after the / must be a number, and a / in a password must be written as %2F`)
  return Number(digits)
}

function hostIn(url: URL): RedisLogin {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (url.protocol === 'redis:') return { host }
  return { host, tls: isIP(host) === 0 ? { servername: host } : {} }
}

function loginIn(url: URL): RedisLogin {
  return {
    ...(url.username !== '' && { username: decoded(url.username) }),
    ...(url.password !== '' && { password: decoded(url.password) }),
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    // Not kept as the cause: it could repeat what it failed on.
    throw refusal(say`user or password has a % that is no percent-encoding; write it as %25`)
  }
}

function refusal(reason: Sayable): RegentError {
  return new RegentError('REGENT_BAD_REQUEST', say`The address of the Redis store must be ${form}; ${reason}.`)
}
