import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Environment } from './configuration.ts'

/** Which pod an agent lives in, as the downward API says. */
export interface PodIdentity {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly node: string
}

const variables = {
  namespace: ['KB_AGENT_NAMESPACE', 'metadata.namespace'],
  name: ['KB_AGENT_POD_NAME', 'metadata.name'],
  uid: ['KB_AGENT_POD_UID', 'metadata.uid'],
  node: ['KB_AGENT_NODE_NAME', 'spec.nodeName'],
} as const

/**
 * The pod, or undefined where none of the four variables is set: then the agent runs outside a pod. Throws
 * `REGENT_BAD_ENVIRONMENT` where only some are set: an Event about a nameless pod would reach nobody.
 */
export function readPodIdentity(environment: Environment): PodIdentity | undefined {
  const missing = Object.values(variables).filter(([variable]) => !environment[variable])
  if (missing.length === Object.keys(variables).length) return undefined
  const [first] = missing
  if (first !== undefined)
    throw new RegentError(
      'REGENT_BAD_ENVIRONMENT',
      say`${first[0]} is not set beside the other KB_AGENT_ variables; it takes the downward API’s ${first[1]}`,
    )
  const valueOf = (field: keyof typeof variables): string => environment[variables[field][0]] ?? ''
  return { namespace: valueOf('namespace'), name: valueOf('name'), uid: valueOf('uid'), node: valueOf('node') }
}
