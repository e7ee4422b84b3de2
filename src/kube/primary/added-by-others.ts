import type { V1ServiceSpec } from '@kubernetes/client-node'
import type { EndpointSlice } from './primary-endpoints.ts'
import { managedBy, serviceName } from './primary-endpoints.ts'
import type { Service } from '../objects/services.ts'
import type { MySQLClusterSpec } from '../spec/spec-schema.ts'

/** What others have put beside what is Regent's, and what takes it away. */
export interface Addition {
  /** A merge patch of the object's spec. */
  readonly spec: Readonly<Record<string, unknown>>
  /** For people: `the selector app=shop`. */
  readonly what: string
}

/**
 * What of a Service leads clients elsewhere than Regent wants. An apply owns what it sends and removes nothing that
 * others added: further words of a selector, further ports, another name. How traffic comes to the Service (addresses,
 * node ports, families, external policies) is for others to say.
 * @returns undefined where there is nothing to take away
 */
export function addedToService(wanted: Service, live: Service): Addition | undefined {
  const found = [selectorAdded(wanted.spec, live.spec), portsAdded(wanted.spec, live.spec), nameAdded(live.spec)]
  const additions = found.filter((one) => one !== undefined)
  if (additions.length === 0) return undefined
  return {
    spec: Object.assign({}, ...additions.map(({ spec }) => spec)) as Addition['spec'],
    what: additions.map(({ what }) => what).join(', '),
  }
}

function selectorAdded({ selector: ours }: V1ServiceSpec, { selector: now = {} }: V1ServiceSpec): Addition | undefined {
  const added = Object.entries(now).filter(([word]) => ours?.[word] === undefined)
  if (added.length === 0) return undefined
  const selector = ours === undefined ? null : Object.fromEntries(added.map(([word]) => [word, null]))
  return { spec: { selector }, what: `the selector ${added.map(([word, value]) => `${word}=${value}`).join(',')}` }
}

function portsAdded({ ports: ours = [] }: V1ServiceSpec, { ports: now = [] }: V1ServiceSpec): Addition | undefined {
  const isOurs = ({ port, protocol = 'TCP' }: (typeof now)[number]): boolean =>
    ours.some((one) => one.port === port && (one.protocol ?? 'TCP') === protocol)
  const added = now.filter((port) => !isOurs(port))
  if (added.length === 0) return undefined
  return { spec: { ports: now.filter(isOurs) }, what: `port ${added.map(({ port }) => port).join(', ')}` }
}

/** Regent makes no Service that is another name of something. */
function nameAdded({ externalName }: V1ServiceSpec): Addition | undefined {
  return externalName === undefined ? undefined : { spec: { externalName: null }, what: `the name ${externalName}` }
}

/** Kubernetes' own controller, which writes the slices of Services that have a selector. */
export const ofController = 'endpointslice-controller.k8s.io'

/**
 * Slices by which clients of the primary's Service reach somebody else. kube-proxy takes all slices of a Service
 * together. Slices that Kubernetes made for a selector stay when the selector is gone.
 */
export function strangersAmong(
  slices: readonly EndpointSlice[],
  service: string,
  routing: MySQLClusterSpec['services']['routing'],
): readonly EndpointSlice[] {
  return slices.filter(({ metadata: { name, labels = {} } }) => {
    if (labels[serviceName] !== service) return false
    return routing === 'labels' ? labels[managedBy] !== ofController : name !== service
  })
}
