import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '#test/support/bare-instance.ts'
import { clientOf, clients, matches, unmodified, type Answered, type Row } from '#test/support/orchestrator-commands.ts'
import { commandOf, commandsOf, everyCommand, everyCommandManaged } from '#test/support/orchestrator-every-command.ts'
import { everyCommandWatched } from '#test/support/orchestrator-every-command-watched.ts'
import { freePort } from '#test/support/free-port.ts'
import { WatchedTrees } from '#test/support/watched-trees.ts'
import { withCluster } from '#test/support/with-cluster.ts'

if (unmodified === undefined)
  console.warn('REGENT_ORCHESTRATOR_CLIENT names no client of orchestrator: only the stand-in of this project asks')

const tables: readonly (readonly [string, readonly Row[]])[] = [
  ['a cluster in mode semisync', everyCommandManaged(true)],
  ['a group', everyCommandManaged(false)],
  ['a tree that is watched', everyCommandWatched],
]

describe.each(tables)('The table for %s', (_, rows) => {
  const named = new Set(rows.map(commandOf))
  it('names every command', () => {
    expect(everyCommand.filter((command) => !named.has(command))).toEqual([])
  })

  it.each(clients)('names every command that %s knows', async (_client, program) => {
    const known = await commandsOf(program)
    expect(known.length).toBeGreaterThan(90)
    expect(known.filter((command) => !named.has(command))).toEqual([])
  })
})

interface Asked {
  readonly ask: (...words: readonly string[]) => Promise<Answered>
  /** After a row that another server may lead by. */
  readonly settle?: () => Promise<unknown>
}

/** The rows that this client has a command for, one after the other; gives those that were answered otherwise. */
async function runRows(rows: readonly Row[], program: string, { ask, settle }: Asked): Promise<readonly unknown[]> {
  const known = new Set(await commandsOf(program))
  const wrong: unknown[] = []
  for (const row of rows.filter((each) => known.has(commandOf(each)))) {
    const [words, prints] = row
    const got = await ask(...words.split(' '))
    if (!matches(got, prints)) wrong.push({ words, prints, got })
    if (/take-|takeover|force-/.test(words)) await settle?.()
  }
  return wrong
}

/** Members of a group listen on ports of their own on one machine. */
const samePorts = (text: string) => text.replaceAll(/(shop-\d):\d+/g, '$1:3306')

describe.each(['semisync', 'group'] as const)('A cluster in mode %s', (mode) => {
  let port = 0
  beforeAll(async () => {
    port = await freePort()
  })
  const shop = withCluster(() => ({
    spec: { mode },
    flags: ['--orchestrator-port', String(port), '--orchestrator-hosts', 'name'],
  }))

  it.each(clients)('answers every command, asked by %s', async (_, program) => {
    const cluster = shop.current
    await cluster.whole()
    if ((await cluster.primary()) !== 'shop-0') await cluster.switchover({ to: 'shop-0' })
    await cluster.whole()
    const client = clientOf(program, port)
    const wrong = await runRows(everyCommandManaged(mode === 'semisync'), program, {
      ask: async (...words) => {
        const { code, stdout, stderr } = await client(...words)
        return { code, stdout: samePorts(stdout), stderr: samePorts(stderr) }
      },
      settle: async () => cluster.whole(),
    })
    expect(wrong).toEqual([])
  })
})

describe('A tree that is watched', () => {
  let trees: WatchedTrees
  beforeAll(async () => {
    trees = await WatchedTrees.start({ shop: [null, 0, 1, 1] })
    await trees.adopt('shop', trees.listen)
    await trees.allow()
    await isWell()
  })
  afterAll(async () => trees.end())

  /** On a busy machine a receiver may lose its source for a moment. */
  const isWell = async () =>
    until(async () => {
      const { Details } = await trees.ask('replication-analysis')
      const { stdout } = await trees.client()('-c', 'all-instances')
      return stdout.split('\n').length === 4 && (Details as readonly unknown[]).length === 0
    }, 'all servers are seen, and nothing is wrong')

  it.each(clients)('answers every command, asked by %s', async (_, program) => {
    const wrong = await runRows(everyCommandWatched, program, {
      async ask(...words) {
        if (words.includes('replication-analysis')) await isWell()
        const parts = words.map((word) =>
          word.replaceAll(/shop-\d/g, (name) => (word.includes('=') ? name : trees.key(name))),
        )
        const { code, stdout, stderr } = await trees.client(program)(...parts)
        return { code, stdout: trees.named(stdout), stderr: trees.named(stderr) }
      },
    })
    expect(wrong).toEqual([])
    await trees.spreads('shop-0', 'shop-1', 'shop-2', 'shop-3')
    expect((await trees.links('shop')).join(' ')).toBe('shop-1<shop-0 shop-2<shop-1 shop-3<shop-1')
  })
})
