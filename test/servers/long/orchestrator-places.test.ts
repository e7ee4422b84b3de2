import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '#test/support/bare-instance.ts'
import { WatchedTrees } from '#test/support/watched-trees.ts'

describe('A tree without GTIDs, found by the address of one of its servers', () => {
  let trees: WatchedTrees
  beforeAll(async () => {
    trees = await WatchedTrees.start({ old: [null, 0, 0, 1] }, { hasGtids: false })
    await trees.adopt('old', trees.listen, 1)
  })
  afterAll(async () => trees.end())

  const ask = async (words: string) => {
    const parts = words.split(' ').map((word) => (/^old-\d$/.test(word) ? trees.key(word) : word))
    const { code, stdout, stderr } = await trees.client()(...parts)
    return trees.named(code === 0 ? stdout : stderr)
  }

  it('is watched as a whole from then on', async () => {
    expect(await ask('-c which-cluster-instances -i old')).toBe('old-0')
    expect(await ask('-c discover -i old-3')).toBe('old-3')
    await until(async () => (await ask('-c is-replicating -i old-3')) === 'old-3', 'its servers are seen')
    expect((await ask('-c which-cluster-instances -i old')).split('\n').toSorted()).toEqual([
      'old-0',
      'old-1',
      'old-2',
      'old-3',
    ])
    expect(await ask('-c discover -i 127.0.0.1:1')).toMatch(/127.0.0.1:1 .*cannot be looked at/)
    expect(await ask('-c forget -i old-3')).toBe('')
    expect(await ask('-c instance -i old-3')).toMatch(/Cannot read instance/)
    expect(await ask('-c async-discover -i old-3')).toBe(':null')
    expect(await ask('-c instance -i old-3')).toBe('old-3')
  })

  it.each([
    ['-c move-below -i old-2 -d old-1', 'old-2<old-1', 'old-1<old-0 old-2<old-1 old-3<old-1'],
    ['-c move-up -i old-3', 'old-3<old-0', 'old-1<old-0 old-2<old-1 old-3<old-0'],
    ['-c take-master -i old-2', 'old-2<old-0', 'old-1<old-2 old-2<old-0 old-3<old-0'],
    [
      '-c relocate -i old-1 -d old-3',
      /turns to be too complex; please do it manually/,
      'old-1<old-2 old-2<old-0 old-3<old-0',
    ],
    ['-c relocate -i old-3 -d old-2', 'old-3<old-2', 'old-1<old-2 old-2<old-0 old-3<old-2'],
    ['-c move-up-replicas -i old-2', 'old-1\nold-3', 'old-1<old-0 old-2<old-0 old-3<old-0'],
    ['-c detach-replica -i old-2', 'old-2', 'old-1<old-0 old-2<//old-0 old-3<old-0'],
    ['-c reattach-replica -i old-2', 'old-2', 'old-1<old-0 old-2<old-0 old-3<old-0'],
    ['-c gtid-errant-reset-master -i old-2', /no errant GTID is found/, 'old-1<old-0 old-2<old-0 old-3<old-0'],
  ] as const)('%s', async (words, prints, links) => {
    await trees.allow()
    const writing = new AbortController()
    const writes = (async () => {
      for (; !writing.signal.aborted;) await trees.at('old-0').sql(`INSERT INTO t.t (word) VALUES ('while it moves')`)
    })()
    try {
      const said = await ask(words)
      if (typeof prints === 'string') expect(said.split('\n').toSorted().join('\n')).toBe(prints)
      else expect(said).toMatch(prints)
    } finally {
      writing.abort()
      await writes
    }
    expect((await trees.links('old')).join(' ')).toBe(links)
    const counts = async (name: string) => trees.at(name).sql('SELECT COUNT(*) AS n, SUM(id) AS s FROM t.t')
    const attached = ['old-1', 'old-2', 'old-3'].filter((name) => !links.includes(`${name}<//`))
    await trees.spreads('old-0', ...attached)
    const [all] = await counts('old-0')
    for (const name of attached) expect((await counts(name))[0]).toEqual(all)
  })

  it('is found by what orchestrator’s own file says, key by key', async () => {
    const file = join(trees.home, 'orchestrator.conf.json')
    const account = { MySQLTopologyUser: 'regent', MySQLTopologyPassword: 'looks' }
    await writeFile(
      file,
      JSON.stringify({ ...account, DiscoverySeeds: [trees.key('old-1')], ConsulAddress: 'here:8500' }),
    )
    const ran = await trees.regent('adopt', '--orchestrator', file, '--name', 'told', '--check')
    expect(ran.code, ran.stderr).toBe(0)
    expect(ran.stdout).toContain('MySQLTopologyPassword=…  →  mysql of the adoption')
    expect(ran.stdout).toMatch(/ConsulAddress="here:8500" {2}– {2}instead: /)
    expect(ran.stdout).toMatch(/told-0 +primary(.|\n)*told-1 +replica(.|\n)*told-2 +replica(.|\n)*told-3 +replica/)
    expect(ran.stdout).not.toContain('"looks"')
    expect(ran.stdout).toContain('instead: clients.md tells')
  })

  it('is led by another server when a person asks, while the root answers and when that is dead', async () => {
    expect(await ask('-c graceful-master-takeover-auto -i old -d old-1')).toBe('old-1')
    expect((await trees.links('old')).join(' ')).toBe('old-0<old-1 old-2<old-1 old-3<old-1')
    await trees.spreads('old-1', 'old-0', 'old-2', 'old-3')
    await trees.at('old-1').signal('SIGKILL')
    await until(
      async () => (await ask('-c replication-analysis')).includes('old-1 (cluster old-1): DeadMaster'),
      'the death is seen',
    )
    expect(await ask('-c recover -i old-1')).toMatch(/what it wrote since is not known.*force-master-failover/)
    expect(await ask('-c force-master-takeover -i old -d old-2')).toBe('old-2')
    expect((await trees.links('old')).join(' ')).toBe('old-0<old-2 old-3<old-2')
    await trees.spreads('old-2', 'old-0', 'old-3')
  })
})
