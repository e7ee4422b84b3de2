import { describe, expect, it } from 'vitest'
import type { Recovery } from '#failover/protocol/notes.ts'
import { distributionOf } from './distribution.ts'
import { requestsIn, totalOf } from './manager-metrics.ts'
import { markdownTable, withMeasured } from './measured-page.ts'
import { phaseMs } from './mha-runs.ts'
import { joined, lostIn, tableOf } from './report.ts'
import { stepsOf } from './steps.ts'

describe('a distribution', () => {
  it('is told by values that were measured, never by ones between them', () => {
    const values = Array.from({ length: 20 }, (_, at) => 20 - at)
    expect(distributionOf(values)).toEqual({ runs: 20, min: 1, median: 10, p95: 19, max: 20 })
    expect(distributionOf([7])).toEqual({ runs: 1, min: 7, median: 7, p95: 7, max: 7 })
    expect(distributionOf([])).toBeUndefined()
  })
})

describe('runs of one case', () => {
  const run = (outageMs: number, lost: number, more: readonly (readonly [string, readonly number[]])[] = []) => ({
    ...{ name: 'kill', unit: 'ms', lost, acknowledged: 100 },
    samples: new Map([['outage', [outageMs]], ...more]),
  })

  it('are joined into one result, with all values and what was lost in any', () => {
    const result = joined([run(7, 0), run(9, 2, [['· noticed', [1]]])])
    expect(result).toMatchObject({ name: 'kill', unit: 'ms', lost: 2, acknowledged: 200 })
    expect([...result.samples]).toEqual([
      ['outage', [7, 9]],
      ['· noticed', [1]],
    ])
    expect([...joined([]).samples]).toEqual([])
  })

  it('keep their steps in order, also one that the first run lacks', () => {
    const first = run(7, 0, [
      ['· noticed', [1]],
      ['whole again', [20]],
    ])
    const second = run(9, 0, [
      ['· noticed', [2]],
      ['· fetched', [4]],
      ['whole again', [30]],
    ])
    expect([...joined([first, second]).samples]).toEqual([
      ['outage', [7, 9]],
      ['· noticed', [1, 2]],
      ['· fetched', [4]],
      ['whole again', [20, 30]],
    ])
  })

  it('say below their table what was lost, and what a reader must know', () => {
    expect(lostIn(run(7, 1))).toBe('100 acknowledged writes, lost 1')
    expect(lostIn({ ...run(7, 0), note: 'on other servers' })).toBe('100 acknowledged writes, lost 0; on other servers')
    expect(tableOf({ ...joined([]), name: 'kill', note: 'each failed' })).toContain('each failed')
  })

  it('with MHA kill at moments that lie evenly between two pings', () => {
    expect([1, 2, 3].map((at) => phaseMs(3, at, 3))).toEqual([1_500, 2_500, 3_500])
    expect(phaseMs(1, 1, 1)).toBe(1_500)
  })
})

describe('the steps of a recovery', () => {
  it('have names that do not depend on who was primary, and the time of their first end', () => {
    const recovery: Recovery = {
      id: 'r1',
      kind: 'failover',
      startedWallMs: 0,
      analysis: '',
      sentence: '',
      from: 'shop-0@a',
      to: 'shop-2@c',
      fromEpoch: 1,
      toEpoch: 2,
      outcome: 'succeeded',
      timeline: [
        { atMs: 0, what: 'noticed: mysqld of shop-0 is dead' },
        { atMs: 6, what: 'promise shop-2: 5.1 ms (stop 4.0 ms)' },
        { atMs: 7, what: 'promise shop-1: 6.1 ms' },
        { atMs: 9, what: 'committed revision 4, epoch 2' },
        { atMs: 20, what: 'assign shop-2: 9.0 ms' },
        { atMs: 22, what: 'assign shop-1: 11.0 ms' },
        { atMs: 23, what: 'route moved to shop-2' },
        { atMs: 24, what: 'assign shop-2: 1.0 ms' },
        { atMs: 30, what: 'ended: succeeded' },
      ],
    }
    expect([...stepsOf(recovery)]).toEqual([
      ['promise new primary', 6],
      ['promise replica', 7],
      ['record committed', 9],
      ['assign new primary', 20],
      ['assign replica', 22],
      ['route moved', 23],
      ['primary seen open', 30],
    ])
  })
})

describe('what a manager asks of the API server', () => {
  it('is counted by method, whatever was answered and by whom', () => {
    const metrics = [
      '# TYPE rest_client_requests_total counter',
      'rest_client_requests_total{code="200",method="GET",host="a:1"} 40',
      'rest_client_requests_total{code="404",method="GET",host="a:1"} 2',
      'rest_client_requests_total{code="200",method="PATCH",host="a:1"} 7',
      'regent_leader 1',
    ]
    expect([...requestsIn(metrics.join('\n'))]).toEqual([
      ['GET', 42],
      ['PATCH', 7],
    ])
  })
})

describe('a counter of a manager', () => {
  it('is the sum over its labels, and no other counter whose name begins the same', () => {
    const metrics = [
      'regent_decisions_total{cluster="shop",kind="assign"} 3',
      'regent_decisions_total{cluster="mall",kind="commit"} 1',
      'regent_decisions_total_created 9',
      'regent_leader 1',
    ].join('\n')
    expect([totalOf(metrics, 'regent_decisions_total'), totalOf(metrics, 'regent_leader')]).toEqual([4, 1])
    expect(totalOf('', 'regent_decisions_total')).toBe(0)
  })
})

describe('the measured part of a page', () => {
  const page = '# Page\n\n<!-- measured: by the bench -->\nold\n<!-- /measured -->\n\nThe end.\n'

  it('is replaced as a whole, and nothing else', () => {
    const table = markdownTable(['kill', 'runs'], [['outage', '20']], '7 writes, lost 0')
    const written = withMeasured({ path: 'page.md', page }, 'measured', ['A machine.', table])
    expect(written).toBe(
      '# Page\n\n<!-- measured: by the bench -->\n\nA machine.\n\n| kill | runs |\n|---|---:|\n| outage | 20 |\n\n7 writes, lost 0.\n\n<!-- /measured -->\n\nThe end.\n',
    )
    expect(withMeasured({ path: 'page.md', page: written }, 'measured', ['A machine.', table])).toBe(written)
  })

  it('is one of several, each with a word of its own', () => {
    const other = page.replaceAll('measured', 'measured agents')
    const written = withMeasured({ path: 'page.md', page: page + other }, 'measured agents', ['7 ms'])
    expect(written).toBe(page + other.replace('old', '\n7 ms\n'))
  })

  it('is not guessed at where the marks are missing', () => {
    expect(() => withMeasured({ path: 'page.md', page: '# Page\n' }, 'measured', [])).toThrow(
      'page.md has no part between',
    )
  })
})
