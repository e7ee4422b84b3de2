import type { V1ResourceRequirements } from '@kubernetes/client-node'

/**
 * What container `mysql` asks for where nobody says: what a server with MySQL's own defaults takes. A container that
 * asks for nothing gets no processor beside others that do, and is the first to be ended where memory is short.
 */
const defaults = { cpu: '100m', memory: '512Mi' } as const

/** The same with a request for each resource that has neither request nor limit: a limit alone is a request too. */
export function mysqlResourcesOf(given: V1ResourceRequirements = {}): V1ResourceRequirements {
  const missing = Object.entries(defaults).filter(([name]) => given.limits?.[name] === undefined)
  return { ...given, requests: { ...Object.fromEntries(missing), ...given.requests } }
}
