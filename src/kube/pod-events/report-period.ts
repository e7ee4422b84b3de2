import type { Pod } from '../pods/stateful-set.ts'

/** Unless the pod says otherwise: the period of a probe that has none of its own. */
const defaultSeconds = 60

/** Where an agent's probes are said in its container. */
export const probesVariable = 'KB_AGENT_PROBE'

/**
 * How often the availability probe of these pods is reported though nothing changed, as `KB_AGENT_PROBE` in the
 * environment of their agents says. The longest of them. Seconds.
 */
export function reportPeriodSeconds(pods: readonly Pod[]): number {
  const found = pods.flatMap(({ spec }) =>
    (spec?.containers ?? []).flatMap(({ env = [] }) =>
      env.filter(({ name }) => name === probesVariable).flatMap(({ value }) => periodsIn(value ?? '')),
    ),
  )
  return found.length > 0 ? Math.max(...found) : defaultSeconds
}

function periodsIn(text: string): readonly number[] {
  let probes: unknown
  try {
    probes = JSON.parse(text)
  } catch {
    // The agent itself refuses to start with it, and says so.
    return []
  }
  if (!Array.isArray(probes)) return []
  return (probes as unknown[]).flatMap((probe) => {
    const { action, periodSeconds, reportPeriodSeconds: report } = Object(probe) as Readonly<Record<string, unknown>>
    if (action !== 'availableProbe') return []
    const period = isPositive(periodSeconds) ? periodSeconds : defaultSeconds
    return [isPositive(report) ? Math.max(report, period) : period]
  })
}

function isPositive(value: unknown): value is number {
  return typeof value === 'number' && value > 0
}
