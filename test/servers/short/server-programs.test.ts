import { describe, expect, it } from 'vitest'
import { findMysql } from '#local/packages/mysql-binaries.ts'
import { findRedis } from '#local/packages/redis-binaries.ts'
import { runCommand } from '#common/process/run-command.ts'
import { patienceMs } from '#test/support/patience.ts'

/** As long as unpacking them may take where nothing is in the cache yet. */
const setUpMs = 600_000

async function expectToRun(...argv: readonly string[]): Promise<void> {
  expect(await runCommand([...argv, '--version'], { deadlineMs: patienceMs })).toMatchObject({ ok: true, failure: '' })
}

describe('the servers that set-up provides', () => {
  it(
    'include a MySQL whose server, client and binary log reader run on this machine',
    { timeout: setUpMs },
    async () => {
      const mysql = await findMysql()
      expect(mysql.version).toMatch(/^\d+\.\d+\.\d+$/)
      for (const program of [mysql.mysqld, mysql.mysql, mysql.mysqlbinlog])
        await expectToRun(...program, '--no-defaults')
    },
  )

  it('include a Redis whose server and client run on this machine', { timeout: setUpMs }, async () => {
    const redis = await findRedis()
    expect(redis.version).toMatch(/^\d+\.\d+\.\d+$/)
    for (const program of [redis.redisServer, redis.redisCli]) await expectToRun(...program)
  })
})
