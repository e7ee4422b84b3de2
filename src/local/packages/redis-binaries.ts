import { dirname, isAbsolute, join } from 'node:path'
import { RegentError } from '#common/errors/errors.ts'
import { reported, say, type Sayable } from '#common/sentence/sentence.ts'
import { findUnpacked, programOf, unpackBundle, type DebianBundle, type Say } from './debian-packages.ts'
import { firstExecutable, onPath } from './executables.ts'
import { runCommand } from '#common/process/run-command.ts'

/** Redis' programs on this machine, as argument vectors. Only the Redis store and its tests need them. */
export interface RedisBinaries {
  readonly redisServer: readonly string[]
  readonly redisCli: readonly string[]
  /** Three numbers, for example `8.0.6`. */
  readonly version: string
}

const bundle: DebianBundle = {
  name: 'redis',
  title: 'Redis',
  packages: ['redis-server', 'redis-tools'],
  byHand: 'Install redis-server with redis-cli, and put it on PATH or its path into REGENT_REDIS_SERVER.',
}

/**
 * Finds a Redis: `REGENT_REDIS_SERVER` (a path; what it names is used or refused), else `redis-server` on PATH, else
 * the Debian packages in the cache, which are unpacked first where they are not there yet. Rejects with
 * REGENT_REDIS_MISSING or REGENT_SETUP_FAILED.
 */
export async function findRedis(tell: Say = () => undefined): Promise<RedisBinaries> {
  const named = process.env['REGENT_REDIS_SERVER']
  if (named) {
    if (!isAbsolute(named)) {
      throw new RegentError(
        'REGENT_REDIS_MISSING',
        say`REGENT_REDIS_SERVER is "${named}", but must be the absolute path of a redis-server.`,
      )
    }
    return redisBeside(named, say`REGENT_REDIS_SERVER=${named}`)
  }
  return (await redisOnPath(tell)) ?? (await unpackedRedis(tell))
}

/** A redis-server on PATH that cannot be used is passed over: nobody asked for it by name. */
async function redisOnPath(tell: Say): Promise<RedisBinaries | undefined> {
  const path = await onPath('redis-server')
  if (path === undefined) return undefined
  try {
    return await redisBeside(path, path)
  } catch (error) {
    if (!(error instanceof RegentError)) throw error
    tell(`Redis: passing over the one on PATH. ${error.message}`)
    return undefined
  }
}

async function unpackedRedis(tell: Say): Promise<RedisBinaries> {
  const tree = (await findUnpacked(bundle)) ?? (await unpackBundle(bundle, tell))
  return describe(
    programOf(tree, 'usr/bin/redis-server'),
    programOf(tree, 'usr/bin/redis-cli'),
    say`${tree.root} (remove that folder to have it unpacked again)`,
  )
}

async function redisBeside(server: string, where: Sayable): Promise<RedisBinaries> {
  if ((await firstExecutable([server])) === undefined) {
    throw new RegentError(
      'REGENT_REDIS_MISSING',
      say`${where} is not an executable file. Set REGENT_REDIS_SERVER to the path of a redis-server, or unset it.`,
    )
  }
  const cli = (await firstExecutable([join(dirname(server), 'redis-cli')])) ?? (await onPath('redis-cli'))
  if (cli === undefined) {
    throw new RegentError(
      'REGENT_REDIS_MISSING',
      say`${where} has no redis-cli beside it, and there is none on PATH; Regent needs that as well.`,
    )
  }
  return describe([server], [cli], where)
}

async function describe(
  redisServer: readonly string[],
  redisCli: readonly string[],
  where: Sayable,
): Promise<RedisBinaries> {
  const result = await runCommand([...redisServer, '--version'], { deadlineMs: 30_000 })
  const version = /\bv=(\d+\.\d+\.\d+)/.exec(result.stdout)?.[1]
  if (!result.ok || version === undefined) {
    throw new RegentError(
      'REGENT_REDIS_MISSING',
      say`${where} does not run as a redis-server: ${reported(result.failure || result.stdout.trim())}`,
    )
  }
  return { redisServer, redisCli, version }
}
