import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import type { TestCluster } from '#test/support/cluster.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { Strangers } from '#test/support/strangers.ts'
import { stopWriters, Writer } from '#test/support/writer.ts'

let strangers: Strangers | undefined

afterEach(async () => {
  await stopWriters()
  await strangers?.end()
})

/** Nothing but SQL reaches the servers, and any loss is accepted once the script says that the primary is off. */
async function withPowerOff(script: string): Promise<{ all: Strangers; cluster: TestCluster }> {
  strangers = await Strangers.start({
    ...{ ssh: false, start: false, failover: { acceptLoss: 'always' } },
    hooks: (home) => ({
      powerOff: [{ command: ['sh', join(home, 'power-off'), home, '{failedHost}'], timeoutMs: 60_000 }],
    }),
  })
  await writeFile(join(strangers.home, 'power-off'), script)
  return { all: strangers, cluster: await strangers.manage() }
}

it('A frozen primary that nobody reaches is replaced once the hook has switched its host off, and nobody writes beside the new one', async () => {
  const { all, cluster } = await withPowerOff('echo "$2" >> "$1/asked"; read pid < "$1/pid"; kill -9 $pid')
  const { epoch } = await cluster.view()
  const writer = await Writer.start(cluster)
  const { server, address } = all.hostOf('shop-0')
  await writeFile(join(all.home, 'pid'), `${await server.pid()}\n`)
  const frozenMs = monotonicMs()
  await server.signal('SIGSTOP')
  const { host } = await writer.next(frozenMs, { notBy: address })
  expect(host).not.toBe(address)
  expect(await readFile(join(all.home, 'asked'), 'utf8')).toBe(`${address}\n`)
  await expect(server.session()).rejects.toThrow()
  const { timeline } = await cluster.recoveryOf(Number(epoch))
  const steps = timeline.map(({ what }) => what)
  expect(steps).toEqual(expect.arrayContaining([expect.stringMatching(/of powerOff succeeded/)]))
})

it('A primary that is only paused leads on where the hook could not switch its host off', async () => {
  const { all, cluster } = await withPowerOff('echo asked >> "$1/asked"; echo no power board; exit 1')
  const writer = await Writer.start(cluster)
  const { server } = all.hostOf('shop-0')
  await server.signal('SIGSTOP')
  await cluster.until('the hook stopped it', async () => (await cluster.view()).sentence.includes('no power board'))
  const pausedMs = monotonicMs()
  await server.signal('SIGCONT')
  await writer.next(pausedMs)
  await cluster.whole()
  expect(await cluster.primary()).toBe('shop-0')
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  expect((await readFile(join(all.home, 'asked'), 'utf8')).trim()).toBe('asked')
})
