import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { InstanceName } from './member.ts'
import { buildReplicationTree, type ReplicationNode } from './replication-tree.ts'
import { aDumpThreadOf, aSnapshot } from '../testing.ts'

/** `shop-0(shop-1 shop-2(shop-3))` */
function drawn(node: ReplicationNode): string {
  return node.followers.length === 0 ? node.instance : `${node.instance}(${node.followers.map(drawn).join(' ')})`
}

const draw = (roots: readonly ReplicationNode[]) => roots.map(drawn).join(' ')

describe('who follows whom', () => {
  test('replicas hang below the primary they follow', () => {
    const tree = buildReplicationTree(aSnapshot())
    expect(draw(tree.roots)).toBe('shop-0(shop-1 shop-2)')
    expect(tree.cycles).toEqual([])
    expect(tree.strangeFollowers).toEqual([])
    expect(tree.roots[0]?.followers[0]?.source).toEqual({ kind: 'instance', instance: 'shop-0', running: true })
  })

  test('a replica of a replica hangs below that', () => {
    const tree = buildReplicationTree(aSnapshot({ 'shop-2': { follows: 'shop-1' } }))
    expect(draw(tree.roots)).toBe('shop-0(shop-1(shop-2))')
  })

  test('a replica whose IO thread does not run still hangs below its source, not running', () => {
    const tree = buildReplicationTree(aSnapshot({ 'shop-1': { server: { channel: { ioRunning: 'connecting' } } } }))
    expect(tree.roots[0]?.followers[0]?.source).toMatchObject({ kind: 'instance', running: false })
  })

  test('an instance whose server never answered is a root of unknown source', () => {
    const tree = buildReplicationTree(aSnapshot({ 'shop-1': { server: null }, 'shop-2': { unheard: true } }))
    expect(tree.roots.map(({ instance, source }) => [instance, source.kind])).toEqual([
      ['shop-0', 'none'],
      ['shop-1', 'unknown'],
      ['shop-2', 'unknown'],
    ])
  })

  test('a source outside of the cluster is a stranger, at another port of a known host too', () => {
    const tree = buildReplicationTree(
      aSnapshot({
        'shop-1': { server: { channel: { sourceHost: '10.9.9.9' } } },
        'shop-2': { server: { channel: { sourcePort: 3307 } } },
      }),
    )
    expect(draw(tree.roots)).toBe('shop-0 shop-1 shop-2')
    expect(tree.roots[1]?.source).toEqual({ kind: 'stranger', host: '10.9.9.9', port: 3306, running: true })
    expect(tree.roots[2]?.source).toMatchObject({ kind: 'stranger', port: 3307 })
  })

  test('a server that reads an instance’s binlog and is none of the cluster is a strange follower', () => {
    const stranger = {
      user: 'reporting',
      host: '10.9.9.9',
      serverUuid: 'ffffffff-0000-0000-0000-000000000000',
      semiSync: true,
    }
    const threads = [
      aDumpThreadOf('shop-1'),
      aDumpThreadOf('shop-2', stranger),
      aDumpThreadOf('shop-2', { serverUuid: '' }),
    ]
    const tree = buildReplicationTree(aSnapshot({ 'shop-0': { server: { dumpThreads: threads } } }))
    expect(tree.strangeFollowers.map(({ of, user }) => [of, user])).toEqual([
      ['shop-0', 'reporting'],
      ['shop-0', 'regent_shop-2'],
    ])
    expect(tree.strangeFollowers[0]).toEqual({ of: 'shop-0', ...stranger })
  })
})

describe('cycles', () => {
  test('two that follow each other are a cycle, and its first instance is the root of both', () => {
    const tree = buildReplicationTree(aSnapshot({ 'shop-0': { follows: 'shop-1' } }))
    expect(tree.cycles).toEqual([['shop-0', 'shop-1']])
    expect(draw(tree.roots)).toBe('shop-0(shop-1 shop-2)')
  })

  test('an instance that follows itself is a cycle of one', () => {
    const tree = buildReplicationTree(aSnapshot({ 'shop-2': { follows: 'shop-2' } }))
    expect(tree.cycles).toEqual([['shop-2']])
    expect(draw(tree.roots)).toBe('shop-0(shop-1) shop-2')
  })

  test('whoever follows whom, every instance is in the tree exactly once, and every cycle is a ring', () => {
    const names: readonly InstanceName[] = Array.from({ length: 7 }, (_, ordinal) => `shop-${ordinal}`)
    const follows = fc.tuple(...names.map(() => fc.option(fc.constantFrom(...names))))
    fc.assert(
      fc.property(follows, (sources) => {
        const overrides = Object.fromEntries(names.map((name, index) => [name, { follows: sources[index] ?? null }]))
        const tree = buildReplicationTree(aSnapshot(overrides, { instances: names.length }))
        expect(tree.roots.flatMap(everyone).sort()).toEqual(names)
        for (const ring of tree.cycles) {
          ring.forEach((name, index) => {
            expect(sources[names.indexOf(name)]).toBe(ring[(index + 1) % ring.length])
          })
        }
      }),
    )
  })
})

function everyone(node: ReplicationNode): InstanceName[] {
  return [node.instance, ...node.followers.flatMap(everyone)]
}
