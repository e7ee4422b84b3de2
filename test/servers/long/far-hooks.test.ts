import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { readSpec } from '#local/folder/spec-file.ts'
import type { TestCluster } from '#test/support/cluster.ts'
import { Strangers } from '#test/support/strangers.ts'

describe('Hooks of servers of somebody else', () => {
  let strangers: Strangers
  let cluster: TestCluster
  const runs = () => join(strangers.home, 'runs')
  const tells = (name: string) => ({
    shell: `test "$REGENT_TEST" = true || echo ${name} "$REGENT_FAILED_HOST" "$REGENT_SUCCESSOR_HOST" >> ${runs()}`,
  })
  const told = async (line: string) =>
    cluster.until(`the hooks tell ${line}`, async () => (await readFile(runs(), 'utf8')).split('\n').includes(line))
  const addressOf = (name: string) => strangers.hostOf(name).address

  /** As a person does: a file that says no more than hooks. */
  async function up(hooks: object) {
    const file = join(strangers.home, 'hooks.yaml')
    await writeFile(file, stringify({ hooks }))
    return cluster.regent('local', 'up', 'shop', '--config', file)
  }

  beforeAll(async () => {
    strangers = await Strangers.start({
      failover: { acceptLoss: 'upTo', acceptLossUpTo: { seconds: 1, transactions: 0 } },
    })
    await writeFile(runs(), '')
    const adoption = parse(await readFile(strangers.hostsFile, 'utf8')) as { hosts: object[] }
    const hosts = adoption.hosts.map((host, at) => (at === 2 ? { ...host, promotion: 'never' } : host))
    const hooks = { beforeFailover: [tells('before')], afterFailover: [tells('after')] }
    await writeFile(strangers.hostsFile, stringify({ ...adoption, hosts, hooks }))
    cluster = await strangers.manage()
    await cluster.whole()
  })
  afterAll(() => strangers.end())

  it('stand in the hosts file, and run at the first failover', async () => {
    await strangers.hostOf('shop-0').kill()
    await told(`before ${addressOf('shop-0')} `)
    await told(`after ${addressOf('shop-0')} ${addressOf('shop-1')}`)
    await cluster.whole()
  })

  it('are changed by local up while the manager runs, which runs on', async () => {
    const before = await cluster.status()
    const ran = await up({ afterSwitchover: [tells('switched')] })
    expect(ran, ran.stderr).toMatchObject({ code: 0 })
    await cluster.until('the manager has them', async () =>
      (await cluster.regent('hooks', 'test', 'shop')).stdout.includes('3 of 3 hooks succeeded'),
    )
    expect(await cluster.regent('switchover', 'shop', '--to', 'shop-0')).toMatchObject({ code: 0 })
    await told(`switched ${addressOf('shop-1')} ${addressOf('shop-0')}`)
    expect((await cluster.status()).managerPid).toBe(before.managerPid)
  })

  it('are changed by local up after local down, and nothing else of what the hosts file said', async () => {
    const before = await readSpec(cluster.layout, 'shop')
    expect(before).toMatchObject({
      reseed: 'manual',
      policies: { 'shop-2': { promotion: 'never' } },
      failover: { acceptLoss: 'upTo' },
      keepBinlogsSeconds: 31_536_000,
    })
    expect(await cluster.regent('local', 'down', 'shop')).toMatchObject({ code: 0 })
    const ran = await up({ beforeFailover: [] })
    expect(ran, ran.stderr).toMatchObject({ code: 0 })
    expect(await readSpec(cluster.layout, 'shop')).toEqual({
      ...before,
      hooks: { ...before.hooks, beforeFailover: [] },
    })
    expect(ran.stderr).toContain('the file of --config changes hooks')
    await cluster.whole()
  })
})
