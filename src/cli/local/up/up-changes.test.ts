import { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import type { BackupToRestore } from '#failover/protocol/backup-store.ts'
import { composeSpec, writeSpec } from '#local/folder/spec-file.ts'
import type { LocalCluster } from '#local/folder/cluster-file.ts'
import { layoutOf } from '#local/folder/state-layout.ts'
import { clusterIn, fileWith, temporaryFolder } from '#local/testing.ts'
import { changeWhileUp, refuseChanges } from './up-changes.ts'
import { withUpOptions } from './up-command.ts'
import type { UpOptions } from './up-options.ts'

async function refusal(options: Partial<UpOptions>, isUp: boolean, store = 'file') {
  const dir = await temporaryFolder()
  await writeSpec(layoutOf(dir), await composeSpec('shop', undefined, {}))
  return refuseChanges({ dir, cluster: { ...clusterIn(dir), store } }, { output: 'text', ...options }, isUp).then(
    () => undefined,
    (error: unknown) => error,
  )
}

describe('a second up', () => {
  test('is accepted when it says nothing or what is so already', async () => {
    expect(await refusal({}, true)).toBeUndefined()
    expect(await refusal({ instances: 3, store: 'file', port: 9599, durability: 'strict' }, true)).toBeUndefined()
  })

  test.each<readonly [Partial<UpOptions>, RegExp]>([
    [{ instances: 5 }, /shop is up with 3 instances, not 5; "regent local scale shop 5" changes that/],
    [{ store: 'redis://127.0.0.1:6379' }, /in another store/],
    [{ port: 9600 }, /API on port 9599, not 9600; "regent local down shop" first/],
    [{ durability: 'available' }, /durability strict, not available/],
    [{ acks: 2 }, /the default number of acknowledgements, not 2/],
    [{ router: true }, /shop is up without a router; "regent local down shop" first/],
    [{ routerConfig: '/some.yaml' }, /without a router/],
    [{ mode: 'group' }, /in mode semisync, not group; a mode cannot change, make a new cluster/],
  ])('is refused when it asks for something else: %j', async (options, message) => {
    expect(await refusal(options, true)).toMatchObject({
      code: 'REGENT_ALREADY_RUNNING',
      message: expect.stringMatching(message) as string,
    })
  })

  // What `up` itself looks at before the cluster is compared, or what only prints.
  const lookedAtElsewhere = ['data', 'output']

  const otherwise = {
    instances: 5,
    mode: 'group',
    acks: 2,
    durability: 'available',
    port: 9600,
    orchestratorPort: 3000,
    orchestratorHosts: 'name',
    hosts: 'hosts',
    config: 'config',
    store: 'redis://127.0.0.1:6379',
    router: true,
    routerConfig: '/some.yaml',
    restore: { store: { url: 'file:///backups' }, backup: 'x' } as unknown as BackupToRestore,
  } satisfies Record<Exclude<keyof UpOptions, 'data' | 'output'>, unknown> & Partial<UpOptions>

  test('takes no option of `up` in silence: each one is compared with what runs', async () => {
    const files = { hosts: await fileWith('- address: 10.0.0.1'), config: await fileWith('acks: 2') }
    for (const option of Object.keys(otherwise) as (keyof typeof otherwise)[]) {
      const value = option === 'hosts' || option === 'config' ? files[option] : otherwise[option]
      expect([option, await refusal({ [option]: value }, true)]).toEqual([
        option,
        expect.objectContaining({ code: 'REGENT_ALREADY_RUNNING' }),
      ])
    }
    const said = withUpOptions(new Command()).options.map((option) => option.attributeName())
    expect(said.filter((name) => !lookedAtElsewhere.includes(name) && !(name in otherwise))).toEqual([])
  })

  test('tells of orchestrator’s interface how it calls servers, and what makes it do otherwise', async () => {
    const dir = await temporaryFolder()
    await writeSpec(layoutOf(dir), await composeSpec('shop', undefined, {}))
    const cluster = clusterIn(dir, { orchestrator: { port: 3000, hosts: 'address' } })
    const asked = async (options: Partial<UpOptions>) =>
      refuseChanges({ dir, cluster }, { output: 'text', ...options }, true)
    await asked({ orchestratorHosts: 'address', orchestratorPort: 3000 })
    await expect(asked({ orchestratorHosts: 'name' })).rejects.toThrow(
      'shop is up with servers called by address, not name, at orchestrator’s interface; "regent local down shop" first, then up with it',
    )
    expect(await refusal({ orchestratorHosts: 'name' }, true)).toMatchObject({
      message: expect.stringContaining('without orchestrator’s interface, which --orchestrator-port serves') as string,
    })
  })

  test('is refused with a file, and before that where the file names another mode', async () => {
    const named = async (text: string, isUp: boolean) => refusal({ config: await fileWith(text) }, isUp)
    expect(await named('acks: 1', true)).toMatchObject({
      message: expect.stringContaining('--config would have no effect') as string,
    })
    for (const isUp of [true, false])
      expect(await named('mode: group', isUp)).toMatchObject({
        message: expect.stringContaining('in mode semisync, not group') as string,
      })
  })

  async function whileUp(stored: object, changes: Partial<LocalCluster> = {}) {
    const dir = await temporaryFolder()
    const found = { dir, cluster: clusterIn(dir, changes) }
    await writeSpec(layoutOf(dir), await composeSpec('shop', undefined, stored))
    return async (text: string) => {
      const options: UpOptions = { output: 'text', config: await fileWith(text) }
      await refuseChanges(found, options, true)
      return changeWhileUp(found, options)
    }
  }

  test('with a file may change the consistency of a group, and says nothing of a file that changes nothing', async () => {
    const ask = await whileUp({ mode: 'group', instances: 5 })
    expect(await ask('group: { consistency: AFTER }')).toMatchObject({
      spec: { instances: 5, group: { consistency: 'AFTER' } },
      words: ['group.consistency is AFTER from now on: the members take it within seconds'],
    })
    expect(await ask('mode: group')).toBeUndefined()
    await expect(ask('{ mode: group, group: { consistency: AFTER }, maxLagSeconds: 7 }')).rejects.toThrow(
      'shop is up so --config would have no effect, but for group.consistency and hooks; the file changes maxLagSeconds; "regent local down shop" first, then up with it',
    )
  })

  test('with a file may change hooks, and take them away', async () => {
    const hooks = { failed: [{ shell: 'true' }] }
    const words = ['the manager takes the hooks of the file within seconds; "regent hooks test shop" tries them']
    const first = await whileUp({})
    expect(await first(JSON.stringify({ hooks }))).toMatchObject({ spec: { hooks }, words })
    const second = await whileUp({ hooks, reseed: 'manual' })
    const without = await second('reseed: manual')
    expect(without).toMatchObject({ words: ['the manager runs no hooks any more, within seconds'] })
    expect(without?.spec).not.toHaveProperty('hooks')
    await expect(second(JSON.stringify({ hooks }))).rejects.toThrow('the file changes reseed')
    await expect(second('{ reseed: manual, hooks: { failed: [{ shell: "{nobody}" }] } }')).rejects.toThrow(
      'has the unknown placeholder {nobody}',
    )
  })

  test('of adopted servers needs no more in its file than the hooks', async () => {
    const hooks = { failed: [{ shell: 'true' }] }
    const ask = await whileUp({ mode: 'async', reseed: 'manual', keepBinlogsSeconds: 31_536_000 }, { far: true })
    expect(await ask(JSON.stringify({ hooks }))).toMatchObject({ spec: { hooks, reseed: 'manual' } })
    await expect(ask('{ reseed: automatic }')).rejects.toThrow('the file changes reseed')
  })

  test('finds its Redis by where it is, and may bring another login to a cluster that is down', async () => {
    const kept = 'redis://:old@127.0.0.1:6379/2'
    expect(await refusal({ store: 'redis://127.0.0.1/2' }, true, kept)).toBeUndefined()
    expect(await refusal({ store: 'redis://127.0.0.1/3' }, true, kept)).toMatchObject({
      message: expect.stringContaining('in another store') as string,
    })
    expect(await refusal({ store: 'redis://:new@127.0.0.1:6379/2' }, true, kept)).toMatchObject({
      message: expect.stringMatching(/another login for its store; "regent local down shop" first/) as string,
    })
    expect(await refusal({ store: 'redis://:new@127.0.0.1:6379/2' }, false, kept)).toBeUndefined()
  })

  test('of a cluster that is down may change what takes effect at a start, and nothing else', async () => {
    expect(
      await refusal(
        { port: 9600, durability: 'available', acks: 2, router: true, config: await fileWith('acks: 2') },
        false,
      ),
    ).toBeUndefined()
    expect(await refusal({ instances: 5 }, false)).toMatchObject({ code: 'REGENT_REFUSED' })
    expect(await refusal({ hosts: await fileWith('- address: 10.0.0.1') }, false)).toMatchObject({
      code: 'REGENT_REFUSED',
    })
  })
})
