import { describe, expect, test } from 'vitest'
import { paintFor } from '#cli/terminal/paint.ts'
import { row, topology } from '#cli/testing.ts'
import { renderTopology, stateOf } from './topology-tree.ts'

const problems = (...sentences: readonly string[]) => sentences.map((sentence) => ({ code: 'Converging', sentence }))

const drawn = (...changes: Parameters<typeof topology>) =>
  `\n${renderTopology(topology(...changes), paintFor(false)).join('\n')}\n`

describe('the tree of a cluster', () => {
  test('says first whether writes are taken, then who follows whom', () => {
    expect(drawn()).toMatchInlineSnapshot(`
      "
      demo  semisync  epoch 3  WRITABLE  primary demo-1  sync set 2, 1 needed

      demo-1     primary  writable                        127.24.1.2:3306  9.7.4
      ├─ demo-0  replica  ok        in sync set  lag 0 s  127.24.1.1:3306  9.7.4
      └─ demo-2  replica  ok        in sync set  lag 0 s  127.24.1.3:3306  9.7.4

      no action: primary demo-1 is healthy, 2 of 2 replicas in the sync set
      "
    `)
  })

  test('ends with the router, and where that leads', () => {
    const sentence = 'writes go on: demo-1 is the primary of epoch 3 by the manager'
    const lines = drawn({ router: { host: '127.24.1.100', writePort: 3306, readPort: 3307, sentence } }).split('\n')
    expect(lines.at(-2)).toBe(`router 127.24.1.100, port 3306 for writes, 3307 for reads: ${sentence}`)
    expect(drawn()).not.toContain('router')
  })

  test.each([
    ['copies', '· backup 20261126T031209Z: the data are copied'],
    ['sends', '· backup 20261126T031209Z: 64.0 MiB of data are in the store'],
    ['failed', '! backup 20261126T031209Z failed: the store is full'],
    ['done', undefined],
  ] as const)('tells of a backup that %s', (stage, line) => {
    const backup = {
      name: '20261126T031209Z',
      stage,
      rawBytes: 67_108_864,
      storedBytes: 1,
      sentence: 'the store is full',
    }
    const lines = drawn({ instances: [row('demo-2', { backup })] }).split('\n')
    expect(lines.find((each) => each.includes('backup'))?.trim()).toBe(line)
  })

  test('says what is wrong under the instance it is wrong with', () => {
    const instances = [
      row('demo-0', { process: 'dead', inSyncSet: false, problems: problems('mysqld ended: signal SIGKILL') }),
      row('demo-1', { role: 'primary', readOnly: true, offline: true, inSyncSet: false }),
      row('demo-2', {
        inSyncSet: false,
        lagSeconds: 12,
        backlog: 340,
        problems: problems('replication stopped: error 1062', 'errant transactions'),
      }),
    ]
    expect(
      drawn({
        instances,
        writable: false,
        syncSet: [],
        blocked: true,
        sentence: 'writes wait: 0 of 1 acknowledgements can come',
      }),
    ).toMatchInlineSnapshot(`
      "
      demo  semisync  epoch 3  NOT WRITABLE  primary demo-1  sync set 0, 1 needed

      demo-1     primary  offline                                           127.24.1.2:3306  9.7.4
      ├─ demo-0  replica  mysqld dead  not counted                          127.24.1.1:3306  9.7.4
      │      ! mysqld ended: signal SIGKILL
      └─ demo-2  replica  ailing       not counted  lag 12 s, 340 to apply  127.24.1.3:3306  9.7.4
             ! replication stopped: error 1062
             ! errant transactions

      writes wait: 0 of 1 acknowledgements can come
      "
    `)
  })

  test('says what is not known where the primary’s agent is silent, and not that no writes are taken', () => {
    const instances = [row('demo-0'), row('demo-1', { role: 'primary', reachable: false, inSyncSet: false })]
    const sentence = 'whether demo-1 takes writes is not known: …'
    expect(drawn({ instances, tree: [], writable: null, writableUnknown: { likely: true, sentence } })).toBe(
      `\n${[
        'demo  semisync  epoch 3  WRITES NOT KNOWN  primary demo-1  sync set 2, 1 needed',
        '',
        'demo-0  replica  ok               in sync set  lag 0 s  127.24.1.1:3306  9.7.4',
        'demo-1  primary  agent not heard                        127.24.1.2:3306  9.7.4',
        '',
        'no action: primary demo-1 is healthy, 2 of 2 replicas in the sync set',
        sentence,
      ].join('\n')}\n`,
    )
  })

  test('draws a chain, an instance outside of the tree, and a circle only once', () => {
    const tree = [{ name: 'demo-1', replicas: [{ name: 'demo-0', replicas: [{ name: 'demo-1', replicas: [] }] }] }]
    expect(drawn({ tree })).toMatchInlineSnapshot(`
      "
      demo  semisync  epoch 3  WRITABLE  primary demo-1  sync set 2, 1 needed

      demo-1     primary  writable                        127.24.1.2:3306  9.7.4
      └─ demo-0  replica  ok        in sync set  lag 0 s  127.24.1.1:3306  9.7.4
      demo-2     replica  ok        in sync set  lag 0 s  127.24.1.3:3306  9.7.4

      no action: primary demo-1 is healthy, 2 of 2 replicas in the sync set
      "
    `)
  })

  test('shows a cluster that was never bootstrapped, is paused and unprotected', () => {
    const instances = [row('demo-0', { role: 'none', process: 'absent', inSyncSet: false })]
    expect(
      drawn({
        primary: null,
        writable: false,
        paused: true,
        acks: 0,
        acksWanted: 0,
        syncSet: [],
        instances,
        tree: [],
        epoch: 0,
      }),
    ).toMatchInlineSnapshot(`
      "
      demo  semisync  epoch 0  NOT WRITABLE  no primary  not protected  PAUSED

      demo-0  none  mysqld not started      127.24.1.1:3306  9.7.4

      no action: primary demo-1 is healthy, 2 of 2 replicas in the sync set
      "
    `)
  })

  test('shows until when trouble of an instance is expected, and does not cry over that', () => {
    const downtime = { untilWallMs: 1_795_435_390_000, reason: 'new disk', owner: 'ann' }
    const shown = drawn({
      instances: [
        row('demo-0', { downtime, process: 'dead', problems: problems('replica demo-0 is dead') }),
        row('demo-1', { role: 'primary' }),
        row('demo-2'),
      ],
    })
    expect(shown).toContain('· downtime until 2026-11-23 12:03:10 UTC by ann: new disk')
    expect(shown).toContain('· replica demo-0 is dead')
    expect(shown).not.toContain('! ')
  })

  test('has colours only where they are wanted', () => {
    expect(renderTopology(topology(), paintFor(true)).join('')).toContain('\u001b[32m')
    expect(drawn()).not.toContain('\u001b')
  })

  test.each([
    [row('a-0', { behind: true, lagSeconds: 666, problems: problems('far behind') }), 'behind'],
    [row('a-0', { fenced: true, reachable: false }), 'fenced'],
    [row('a-0', { reachable: false, process: 'dead' }), 'agent not heard'],
    [row('a-0', { process: 'stopped' }), 'mysqld frozen'],
    [row('a-0', { process: 'unknown' }), 'never heard'],
    [row('a-0', { role: 'none' }), 'no role yet'],
    [row('a-0', { offline: true }), 'offline'],
    [row('a-0', { role: 'primary', readOnly: false }), 'writable'],
    [row('a-0', { role: 'primary', readOnly: true }), 'read-only'],
    [row('a-0'), 'ok'],
    [row('a-0', { problems: problems('x') }), 'ailing'],
    [row('a-0', { problems: problems('x'), downtime: { untilWallMs: 1, reason: 'x', owner: '' } }), 'downtime'],
    [row('a-0', { downtime: { untilWallMs: 1, reason: 'x', owner: '' } }), 'ok'],
  ])('names the one thing about an instance that matters most (%#)', (instance, words) => {
    expect(stateOf(instance).words).toBe(words)
  })
})
