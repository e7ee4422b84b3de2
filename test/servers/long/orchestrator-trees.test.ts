import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '#test/support/bare-instance.ts'
import { standIn, unmodified, type Answered } from '#test/support/orchestrator-commands.ts'
import { WatchedTrees } from '#test/support/watched-trees.ts'

const clients = [standIn, ...(unmodified === undefined ? [] : [unmodified])]

if (unmodified === undefined)
  console.warn('REGENT_ORCHESTRATOR_CLIENT names no client of orchestrator: only the stand-in of this project asks')

/** Percona's client of 2026 asks once without a look at `-d`, and once more; what is answered last is printed. */
async function recoversTwice(program: string): Promise<boolean> {
  return (await readFile(program, 'utf8')).split('api "recover/$instance_hostport"').length > 2
}

/** A command, what is printed, and who follows whom then; servers by their names. */
type Row = readonly [words: string, prints: string | RegExp, links?: string]

describe('Trees of servers that Regent only watches', () => {
  let trees: WatchedTrees
  beforeAll(async () => {
    trees = await WatchedTrees.start({ shop: [null, 0, 1, 1], till: [null, 0] })
    await trees.adopt('shop', trees.listen)
    await trees.adopt('till')
    await until(async () => {
      const { Details } = await trees.ask('replication-analysis')
      const { stdout } = await trees.client()('-c', 'all-instances')
      return stdout.split('\n').length === 6 && (Details as readonly unknown[]).length === 0
    }, 'all servers are seen, and nothing is wrong')
  })
  afterAll(async () => trees.end())

  const named = async (program: string, words: string): Promise<Answered> => {
    const parts = words.split(' ').map((word) => (/^(shop|till)-\d$/.test(word) ? trees.key(word) : word))
    const { code, stdout, stderr } = await trees.client(program)(...parts)
    return { code, stdout: trees.named(stdout), stderr: trees.named(stderr) }
  }

  /** Each row by each client, the clients one after the other. */
  const run = async (rows: readonly Row[]): Promise<void> => {
    for (const program of clients)
      for (const [words, prints, links] of rows) {
        const { code, stdout, stderr } = await named(program, words)
        const said = code === 0 ? stdout : stderr
        if (typeof prints === 'string') expect([words, said]).toEqual([words, prints])
        else expect([words, said]).toEqual([words, expect.stringMatching(prints)])
        if (links !== undefined)
          expect([words, (await trees.links(words.includes('till') ? 'till' : 'shop')).join(' ')]).toEqual([
            words,
            links,
          ])
      }
  }

  it('are shown to both clients as orchestrator shows them', async () => {
    await run([
      ['-c clusters', 'shop-0\ntill-0'],
      ['-c clusters-alias', 'shop-0,shop\ntill-0,till'],
      ['-c which-cluster-master -i shop', 'shop-0'],
      ['-c which-cluster -i shop-3', 'shop-0'],
      ['-c which-cluster-instances -i shop', 'shop-0\nshop-1\nshop-2\nshop-3'],
      ['-c which-master -i shop-2', 'shop-1'],
      ['-c which-replicas -i shop-1', 'shop-2\nshop-3'],
      ['-c is-replicating -i shop-3', 'shop-3'],
      ['-c which-gtid-errant -i shop-3', ''],
      [
        '-c topology -i shop',
        /^shop-0 +\[0s,ok,9[^,]+,rw,ROW,>>,GTID\]\n\+ shop-1 +\[\d+s,ok,9[^,]+,ro,ROW,>>,GTID\]\n {2}\+ shop-2 .*\n {2}\+ shop-3 /,
      ],
      ['-c replication-analysis', ''],
      ['-c tag -i shop-2 -t role=report', 'shop-2'],
      ['-c tagged -t role=report', 'shop-2'],
      ['-c untag-all -t role', 'shop-2'],
      ['-c begin-downtime -i shop-2 -o ann -r disk -u 10m', 'shop-2'],
      ['-c downtimed -i shop', 'shop-2'],
      ['-c end-downtime -i shop-2', 'shop-2'],
      ['-c register-candidate -i shop-2 -R prefer', 'shop-2'],
      ['-c submit-pool-instances -l web -i shop-2', 'web'],
      ['-c ack-all-recoveries -r seen', 'seen'],
      ['-c discover -i shop-2', 'shop-2'],
      [
        '-c graceful-master-takeover-auto -i shop',
        /account regent may not do that at shop-\d .*nothing was done: grant/,
      ],
    ])
  })

  it('are not touched while the account may not, and the refusal says what is lacking', async () => {
    await run([
      [
        '-c relocate -i shop-3 -d shop-0',
        /account regent may not do that at shop-3 .*nothing was done: grant REPLICATION_SLAVE_ADMIN for everything/,
        'shop-1<shop-0 shop-2<shop-1 shop-3<shop-1',
      ],
    ])
  })

  it('are rearranged as orchestrator would, with its refusals', async () => {
    await trees.allow()
    const before = 'shop-1<shop-0 shop-2<shop-1 shop-3<shop-1'
    await run([
      ['-c relocate -i shop-3 -d shop-0', 'shop-3<shop-0', 'shop-1<shop-0 shop-2<shop-1 shop-3<shop-0'],
      ['-c move-below -i shop-3 -d shop-1', 'shop-3<shop-1', before],
      ['-c relocate -i shop-1 -d shop-3', 'relocate: shop-3 is a descendant of shop-1', before],
      ['-c move-up -i shop-2', 'shop-2<shop-0', 'shop-1<shop-0 shop-2<shop-0 shop-3<shop-1'],
      ['-c move-up -i shop-2', 'master is not a replica itself: shop-0'],
      ['-c relocate -i shop-2 -d shop-1', 'shop-2<shop-1', before],
      ['-c repoint -i shop-2 -d shop-1', 'shop-2<shop-1', before],
      ['-c relocate-replicas -i shop-1 -d shop-0', 'shop-2\nshop-3', 'shop-1<shop-0 shop-2<shop-0 shop-3<shop-0'],
      ['-c relocate-replicas -i shop-0 -d shop-1', 'shop-2\nshop-3', before],
      ['-c take-master -i shop-2', 'shop-2<shop-0', 'shop-1<shop-2 shop-2<shop-0 shop-3<shop-1'],
      ['-c take-master -i shop-1', 'shop-1<shop-0', 'shop-1<shop-0 shop-2<shop-1 shop-3<shop-1'],
      ['-c take-master -i shop-1', 'instance is not a replica: shop-0'],
      ['-c stop-replica -i shop-2', 'shop-2'],
      ['-c is-replicating -i shop-2', ''],
      ['-c start-replica -i shop-2', 'shop-2'],
      ['-c restart-replica -i shop-2', 'shop-2'],
      ['-c is-replicating -i shop-2', 'shop-2'],
      ['-c detach-replica -i shop-2', 'shop-2'],
      ['-c which-master -i shop-2', /^\/\/shop-1$/],
      ['-c detach-replica -i shop-2', 'instance already detached: shop-2'],
      ['-c reattach-replica -i shop-2', 'shop-2', before],
      ['-c set-writeable -i shop-2', 'shop-2'],
      ['-c set-read-only -i shop-2', 'shop-2'],
      ['-c skip-query -i shop-2', /skip-query: refused for shop-2, in shop: Regent only watches/],
    ])
    await trees.spreads('shop-0', 'shop-1', 'shop-2', 'shop-3')
  })

  it('get rid of errant transactions, and lose nothing else', async () => {
    const errantOf = async (program: string, name: string) =>
      (await named(program, `-c which-gtid-errant -i ${name}`)).stdout
    const strays = ['shop-2 gtid-errant-inject-empty', 'shop-3 gtid-errant-reset-master'] as const
    for (const program of clients)
      for (const [name = '', command] of strays.map((one) => one.split(' '))) {
        const own = `own_${clients.indexOf(program)}_${strays.findIndex((one) => one.startsWith(name))}`
        await trees.at(name).sql('SET GLOBAL super_read_only = OFF', `CREATE DATABASE ${own}`)
        await until(async () => (await errantOf(program, name)) !== '', `${own} is errant at ${name}`)
        expect(await named(program, `-c ${command} -i ${name}`)).toMatchObject({ code: 0, stdout: name })
        await until(async () => (await errantOf(program, name)) === '', `nothing is errant at ${name}`)
      }
    await trees.spreads('shop-0', 'shop-1', 'shop-2', 'shop-3')
  })

  it('become co-masters, and are one master again', async () => {
    await run([
      ['-c make-co-master -i till-1', 'till-1<till-0', 'till-0<till-1 till-1<till-0'],
      ['-c make-co-master -i till-1', /instance till-1 is already co master of till-0/],
      ['-c which-cluster-master -i till', 'till-0'],
      ['-c take-master -i till-1', 'till-0 is co-master. Cannot take it.'],
      ['-c reset-replica -i till-0', 'till-0', 'till-1<till-0'],
    ])
    await trees.spreads('till-0', 'till-1')
  })

  it('go on below somebody else when the one in the middle dies, once a person says so', async () => {
    for (const program of clients) {
      await trees.at('shop-1').signal('SIGKILL')
      await until(
        async () =>
          (await named(program, '-c replication-analysis')).stdout.includes('shop-1 (cluster shop-0): DeadInter'),
        'the death is seen',
      )
      const recovered = await named(program, '-c recover -i shop-1')
      if (await recoversTwice(program)) expect(recovered.stderr).toBe('Recovery not attempted')
      else expect(recovered).toMatchObject({ code: 0, stdout: 'shop-0' })
      expect((await trees.links('shop')).join(' ')).toBe('shop-2<shop-0 shop-3<shop-0')
      expect((await named(program, '-c recover -i shop-1')).stderr).toBe('Recovery not attempted')
      await trees.spreads('shop-0', 'shop-2', 'shop-3')
      await trees.at('shop-1').start()
      await trees.spreads('shop-0', 'shop-1')
      expect((await named(program, '-c relocate-replicas -i shop-0 -d shop-1')).stdout).toBe('shop-2\nshop-3')
    }
  })

  it('are led by the other co-master alone when one of two dies, and the dead one may come back', async () => {
    await named(standIn, '-c make-co-master -i till-1')
    await trees.spreads('till-0', 'till-1')
    await trees.at('till-0').signal('SIGKILL')
    await until(
      async () =>
        (await named(standIn, '-c replication-analysis')).stdout.includes('till-0 (cluster till-0): DeadCoMaster'),
      'the death is seen',
    )
    expect(await named(standIn, '-c recover -i till-0')).toMatchObject({ code: 0, stdout: 'till-1' })
    expect(await trees.at('till-1').sql('SELECT @@read_only AS closed')).toEqual([{ closed: 0 }])
    await trees.at('till-0').start()
    await trees.spreads('till-1', 'till-0')
    expect((await trees.links('till')).join(' ')).toBe('till-0<till-1 till-1<//till-0')
  })

  it('go on when the manager dies while a replica stands for a change', async () => {
    await using locks = await trees.at('shop-2').session()
    await locks.query('LOCK TABLES t.t READ')
    await trees.at('shop-0').sql(`INSERT INTO t.t (word) VALUES ('waits')`)
    // The replica cannot end what it applies, so it cannot stop: the change hangs in its first step.
    const asked = trees.ask(
      `relocate/${trees.key('shop-2').replace(':', '/')}/${trees.key('shop-0').replace(':', '/')}`,
    )
    await until(async () => {
      const rows = await trees
        .at('shop-2')
        .sql(`SELECT 1 FROM information_schema.PROCESSLIST WHERE INFO LIKE 'STOP REPLICA%'`)
      return rows.length > 0
    }, 'the replica is told to stop')
    await trees.killManager()
    await expect(asked).rejects.toThrow()
    await locks.query('UNLOCK TABLES')
    await until(async () => {
      const [row] = await trees.at('shop-2').sql('SHOW REPLICA STATUS')
      return row?.['Replica_SQL_Running'] === 'No'
    }, 'the replica stands')
    expect((await trees.regent('adopt', 'start')).code).toBe(0)
    await trees.spreads('shop-0', 'shop-2')
    expect((await trees.links('shop')).join(' ')).toContain('shop-2<shop-1')
  })
})
