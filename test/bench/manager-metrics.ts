/** Requests to the Kubernetes API by method, as a manager's metrics count them. */
export function requestsIn(metrics: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>()
  for (const [, labels = '', value = ''] of metrics.matchAll(/^rest_client_requests_total\{([^}]*)\} (\S+)$/gm)) {
    const method = /method="(\w+)"/.exec(labels)?.[1] ?? ''
    found.set(method, (found.get(method) ?? 0) + Number(value))
  }
  return found
}

/** The sum of a counter over all its labels; 0 where it has not counted yet. */
export function totalOf(metrics: string, counter: string): number {
  const lines = metrics.matchAll(new RegExp(`^${counter}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))
  return [...lines].reduce((sum, [, value = '']) => sum + Number(value), 0)
}
