import type { V1Container } from '@kubernetes/client-node'
import { portNames } from './marks.ts'

interface Port {
  readonly name: string
  readonly port: number
}

export interface AgentPorts {
  readonly http: Port
  readonly streaming: Port
}

interface Taken {
  readonly numbers: ReadonlySet<number>
  readonly names: ReadonlySet<string>
}

/**
 * The ports of the agent: 3501 and 3502, or the next that no container of the pod has. They are named `http` and
 * `streaming`; where another container has that name, `http-<port>` and `streaming-<port>`, which fit into the 15
 * characters of a port's name. What a container listens on without saying so cannot be known.
 */
export function freePorts(containers: readonly V1Container[]): AgentPorts {
  const ports = containers.flatMap(({ ports = [] }) => ports)
  const numbers = new Set(ports.map(({ containerPort }) => containerPort))
  const names = new Set(ports.flatMap(({ name }) => (name === undefined ? [] : [name])))
  const http = firstFree(portNames.http, 3501, { numbers, names })
  return { http, streaming: firstFree(portNames.streaming, 3502, { numbers: new Set([...numbers, http.port]), names }) }
}

function firstFree(word: string, first: number, { numbers, names }: Taken): Port {
  for (let port = first; ; port += 1) {
    const name = portName(word, port, names)
    if (!numbers.has(port) && !names.has(name)) return { name, port }
  }
}

/** The name by which callers made for KubeBlocks find a port, or another where a container has that name. */
export function portName(word: string, port: number, taken: ReadonlySet<string>): string {
  return taken.has(word) ? `${word}-${port}` : word
}
