import { describeError } from '#common/errors/errors.ts'
import { findMysql } from './mysql-binaries.ts'
import { findRedis } from './redis-binaries.ts'

/**
 * The part of set-up that needs Node 24, started by scripts/setup: makes the servers exist that a cluster on this
 * machine needs, and says which ones they are. `--with-redis` adds the Redis that the store's tests use.
 */
async function setUp(parameters: readonly string[]): Promise<void> {
  const say = (line: string) => console.log(line)
  const mysql = await findMysql(say)
  say(`MySQL: ${mysql.version}, ${mysql.mysqld.at(-1)}`)
  if (!parameters.includes('--with-redis')) return
  const redis = await findRedis(say)
  say(`Redis: ${redis.version}, ${redis.redisServer.at(-1)}`)
}

try {
  await setUp(process.argv.slice(2))
} catch (error) {
  console.error(describeError(error))
  process.exitCode = 1
}
