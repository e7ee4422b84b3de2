import { expect, it } from 'vitest'
import { Writer } from '#test/support/writer.ts'
import type { SharedCluster } from '#test/support/with-cluster.ts'

/** mysqld was told to end by SQL, as no kill does. */
const ended = `error_code = 'MY-013172'`

/** Restarts of mysqld that somebody asks for, in any mode. */
export function restarts(shop: SharedCluster): void {
  it.each(['replica', 'primary'] as const)(
    'stops mysqld of a %s in order and starts it again, and loses no write',
    async (role) => {
      const cluster = shop.current
      const { epoch, primary } = await cluster.whole()
      const [replica = ''] = await cluster.replicas()
      const name = role === 'primary' ? (primary ?? '') : replica
      const { pid } = await cluster.instance(name)
      const writer = await Writer.start(cluster)
      const ran = await cluster.regent('restart', name)
      expect(ran).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining(`${name} restarts`) as string })
      await cluster.otherMysqld(name, pid)
      const after = await cluster.whole()
      expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
      expect(after.epoch).toBe(role === 'primary' ? epoch + 1 : epoch)
      expect(after.primary === name).toBe(false)
      expect(await cluster.value(name, `select count(*) from performance_schema.error_log where ${ended}`)).not.toBe(
        '0',
      )
    },
  )
}
