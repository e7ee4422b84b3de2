import { expect, it } from 'vitest'
import { sessionsIn, statisticsIn } from './haproxy-statistics.ts'
import { routerMetrics } from './router-metrics.ts'

/** As HAProxy 3.2 answers, without the columns that nobody reads. */
const answer = `# pxname,svname,qcur,scur,stot,bin,bout,econ
writes,FRONTEND,,3,40,1000,2000,
reading,FRONTEND,,2,7,10,20,
primary,primary,0,3,39,1000,2000,5
primary,BACKEND,0,3,39,1000,2000,5
gate,BACKEND,0,0,0,0,0,0

`

it('Statistics are read by the names of their columns', () => {
  const statistics = statisticsIn(answer)
  expect(statistics).toHaveLength(5)
  expect(statistics[0]).toEqual({
    ...{ proxy: 'writes', server: 'FRONTEND', sessions: 3, sessionsTotal: 40 },
    ...{ bytesIn: 1000, bytesOut: 2000, connectErrors: 0 },
  })
  expect(sessionsIn(statistics)).toBe(5)
  expect(() => statisticsIn(answer.slice(0, 120)), 'a part').toThrow('HAProxy did not tell its statistics')
  expect(() => statisticsIn('Unknown command')).toThrow('HAProxy did not tell its statistics: Unknown command')
})

it('Prometheus is told where HAProxy leads, and what HAProxy counts', () => {
  const state = { leads: 'shop-1', moves: 2, failures: 0, heard: 3, sentence: '' }
  const text = routerMetrics('shop', state, statisticsIn(answer))
  for (const line of [
    'regent_router_open{cluster="shop"} 1',
    'regent_router_primary{cluster="shop",instance="shop-1"} 1',
    'regent_router_moves_total{cluster="shop"} 2',
    'regent_router_agents_heard{cluster="shop"} 3',
    'regent_router_sessions{cluster="shop",kind="writes"} 3',
    'regent_router_connect_errors_total{cluster="shop",backend="primary"} 5',
  ])
    expect(text.split('\n')).toContain(line)
  const waiting = routerMetrics('shop', { ...state, leads: '' }, [])
  expect(waiting).toContain('regent_router_open{cluster="shop"} 0')
  expect(waiting).not.toContain('regent_router_primary')
})
