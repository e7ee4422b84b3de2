import { isDeepStrictEqual } from 'node:util'
import type { App } from './app.ts'
import type { AppPort, AppSpec } from './app-schema.ts'

/** A port of which everything is said. */
type NamedPort = Required<AppPort>

/** A spec of which everything is said that Deployment and Service are made of. */
export type WholeAppSpec = Omit<AppSpec, 'ports' | 'service'> & {
  readonly ports: readonly NamedPort[]
  readonly service: AppSpec['service'] & { readonly name: string }
}

/**
 * What an App has where nothing is said. The webhook writes these down, but for the probe; the reconciler takes them
 * again, for an App that no webhook saw.
 */
export function wholeSpecOf({ metadata, spec }: App): WholeAppSpec {
  const ports = spec.ports.map(named)
  const probe = spec.readinessProbe ?? probeOf(ports)
  return {
    ...spec,
    ports,
    service: { ...spec.service, name: spec.service.name ?? metadata.name },
    ...(probe !== undefined && { readinessProbe: probe }),
  }
}

function named({ name, port, targetPort, protocol }: AppPort): NamedPort {
  const ofProtocol = protocol === 'TCP' ? '' : `-${protocol.toLowerCase()}`
  return { name: name ?? `port-${port}${ofProtocol}`, port, targetPort: targetPort ?? port, protocol }
}

function probeOf(ports: readonly NamedPort[]): AppSpec['readinessProbe'] {
  const first = ports.find(({ protocol }) => protocol === 'TCP')
  return first && { tcpSocket: { port: first.targetPort }, periodSeconds: 5, timeoutSeconds: 2 }
}

/**
 * The readiness probe that somebody asks for. The probe of nobody's wish follows the ports and is not written down: a
 * new manifest does not speak of it, and no pod would be ready any more after a change of the port. An older Regent
 * wrote it down.
 *
 * @param before the spec as it is stored; undefined for a new App
 */
export function probeAskedFor(next: AppSpec, before: AppSpec | undefined): AppSpec['readinessProbe'] {
  const { readinessProbe: probe } = next
  const isOlder = before !== undefined && isDeepStrictEqual(probe, before.readinessProbe)
  const wasDefault = isOlder && isDeepStrictEqual(probe, probeOf(before.ports.map(named)))
  const isOfPort = (port: AppPort): boolean => isDeepStrictEqual(probe, probeOf([named(port)]))
  return wasDefault && !next.ports.some(isOfPort) ? undefined : probe
}
