import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '#test/support/bare-instance.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { WatchedTrees } from '#test/support/watched-trees.ts'

/** By whom each of twenty servers follows: six tiers. */
const follows = [null, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 9, 11, 13, 16, 14]
const nameOf = (at: number): string => `big-${at}`
const names = follows.map((_, at) => nameOf(at))
const linksOf = (sources: readonly (number | null)[]) =>
  sources.flatMap((source, at) => (source === null ? [] : [`${nameOf(at)}<${nameOf(source)}`]))

/** How far below the root. */
function tierOf(at: number): number {
  const source = follows[at] ?? null
  return source === null ? 0 : 1 + tierOf(source)
}

describe('A tree of twenty servers of which one was named', () => {
  let trees: WatchedTrees
  beforeAll(async () => {
    trees = await WatchedTrees.start({ big: follows })
    await trees.adopt('big', trees.listen, 1)
    await trees.allow()
  })
  afterAll(async () => trees.end())

  const ask = async (...words: readonly string[]): Promise<string> => {
    const parts = words.map((word) => (/^big-\d+$/.test(word) ? trees.key(word) : word))
    const { code, stdout, stderr } = await trees.client()(...parts)
    return trees.named(code === 0 ? stdout : stderr)
  }
  const links = async () => (await trees.links('big')).toSorted()

  it('is found whole from the server that is furthest from the root', async () => {
    const sinceMs = monotonicMs()
    expect(await ask('-c', 'discover', '-i', 'big-18')).toBe('big-18')
    await until(
      async () => (await ask('-c', 'which-cluster-instances', '-i', 'big')).split('\n').length === names.length,
      'all twenty are known',
    )
    console.log(`    twenty servers were found within ${Math.round(monotonicMs() - sinceMs)} ms`)
    expect((await ask('-c', 'which-cluster-instances', '-i', 'big')).split('\n').toSorted()).toEqual(names.toSorted())
  })

  it('is shown in its tiers, and nothing is wrong with that', async () => {
    await until(async () => (await ask('-c', 'replication-analysis')) === '', 'nothing is wrong')
    const lines = (await ask('-c', 'topology', '-i', 'big')).split('\n')
    const shown = lines.map((line) => /^([ +]*)(big-\d+) /.exec(line)?.slice(1) ?? [line])
    expect(shown.map(([indent = '', name = '']) => [name, indent.length / 2]).toSorted()).toEqual(
      names.map((name, at) => [name, tierOf(at)]).toSorted(),
    )
  })

  it('goes on where one in the middle falls silent: those below follow another, and nobody else moves', async () => {
    await trees.at('big-1').signal('SIGSTOP')
    await until(
      async () => (await ask('-c', 'replication-analysis')).includes('big-1 (cluster big-0): DeadIntermediateMaster'),
      'the silence is seen',
    )
    const successor = await ask('-c', 'recover', '-i', 'big-1')
    expect(['big-0', 'big-2', 'big-3']).toContain(successor)
    await trees.at('big-1').signal('SIGCONT')
    const now = follows.map((source) => (source === 1 ? names.indexOf(successor) : source))
    expect(await links()).toEqual(linksOf(now).toSorted())
    await trees.spreads('big-0', ...names.slice(1))
  })
})
