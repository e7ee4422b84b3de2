import type { RouterState } from './router.ts'
import type { ProxyStatistics } from './haproxy-statistics.ts'

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number]

/** The metrics of a router for Prometheus: how HAProxy is led, and what HAProxy counts. */
export function routerMetrics(cluster: string, state: RouterState, statistics: readonly ProxyStatistics[]): string {
  const fronts = statistics.filter(({ server }) => server === 'FRONTEND')
  const of = (value: (one: ProxyStatistics) => number): readonly Sample[] =>
    fronts.map((one) => [{ kind: one.proxy }, value(one)])
  return [
    metric(
      'regent_router_open',
      'gauge',
      '1 while new sessions that write are led to a primary, 0 while they wait or HAProxy is not led.',
      [[{}, state.leads === '' ? 0 : 1]],
    ),
    metric('regent_router_primary', 'gauge', 'The instance to which sessions that write are led.', [
      ...(state.leads === '' ? [] : [[{ instance: state.leads }, 1] as const]),
    ]),
    metric('regent_router_moves_total', 'counter', 'So often sessions that write were led to another instance.', [
      [{}, state.moves],
    ]),
    metric('regent_router_failures_total', 'counter', 'So often HAProxy did not do what it was told.', [
      [{}, state.failures],
    ]),
    metric('regent_router_agents_heard', 'gauge', 'Agents that are heard now.', [[{}, state.heard]]),
    metric(
      'regent_router_sessions',
      'gauge',
      'Sessions that are open, by port.',
      of((one) => one.sessions),
    ),
    metric(
      'regent_router_sessions_total',
      'counter',
      'Sessions since HAProxy began, by port.',
      of((one) => one.sessionsTotal),
    ),
    metric(
      'regent_router_received_bytes_total',
      'counter',
      'Of clients, by port.',
      of((one) => one.bytesIn),
    ),
    metric(
      'regent_router_sent_bytes_total',
      'counter',
      'To clients, by port.',
      of((one) => one.bytesOut),
    ),
    metric(
      'regent_router_connect_errors_total',
      'counter',
      'So often a server was not reached, by backend.',
      statistics
        .filter(({ server, proxy }) => server === 'BACKEND' && proxy !== 'gate')
        .map((one) => [{ backend: one.proxy }, one.connectErrors]),
    ),
  ].join('')

  function metric(name: string, type: 'gauge' | 'counter', help: string, samples: readonly Sample[]): string {
    const lines = samples.map(([labels, value]) => `${name}{${labelText({ cluster, ...labels })}} ${value}\n`)
    return lines.length === 0 ? '' : `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
  }
}

/** Names of clusters, instances and HAProxy's lines have nothing that must be escaped. */
function labelText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value}"`)
    .join(',')
}
