import { canonicalName } from '#failover/settings/table.ts'
import { portsInUse } from '../objects/agent-config.ts'
import { quantityOf } from '../spec/quantity.ts'
import type { MySQLClusterSpec } from '../spec/spec-schema.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'

/** What is looked at of a container that a person adds. */
interface Container {
  readonly name?: string
  readonly ports?: readonly { readonly containerPort?: number }[]
}

/** Why pods that this spec asks for could never serve, each in a sentence with field, value and what is allowed. */
export function* complaintsAboutPods(spec: MySQLClusterSpec): Generator<Sentence> {
  yield* aboutPorts(spec)
  yield* aboutBufferPool(spec)
}

/** All containers of a pod share its ports: who comes second ends, again and again. */
function* aboutPorts({ pod }: MySQLClusterSpec): Generator<Sentence> {
  const containers = (pod.containers ?? []) as readonly Container[]
  for (const { name = '', ports = [] } of containers)
    for (const { containerPort } of ports)
      if (containerPort !== undefined && portsInUse.includes(containerPort))
        yield say`spec.pod.containers: ${name.slice(0, 63)} has port ${containerPort}; allowed is any but ${portsInUse.join(', ')}, which mysqld and its agent have in that pod`
}

/** A server whose buffer pool alone is as large as its memory may be is killed before the pool is full. */
function* aboutBufferPool({ settings, resources }: MySQLClusterSpec): Generator<Sentence> {
  const [, given] = Object.entries(settings).find(([name]) => canonicalName(name) === bufferPool) ?? []
  // A quantity may be written as a number.
  const limits = resources?.['limits'] as Readonly<Record<string, string | number>> | undefined
  const limit = limits?.['memory']
  if (given === undefined || limit === undefined) return
  const [shown, most] = [given.slice(0, 40), String(limit).slice(0, 40)]
  if (bytesOf(given) >= quantityOf(String(limit)))
    yield say`spec.settings.${bufferPool} is "${shown}"; allowed is less than spec.resources.limits.memory, ${most}: mysqld would be killed for want of memory`
}

const bufferPool = 'innodb_buffer_pool_size'

/** As mysqld reads it: digits, and one letter for a power of 1024. NaN where it is neither. */
function bytesOf(text: string): number {
  const [, digits, unit = ''] = /^(\d+)([KMGTPE]?)$/i.exec(text.trim()) ?? []
  const power = ' KMGTPE'.indexOf(unit.toUpperCase())
  return digits === undefined ? NaN : Number(digits) * 1024 ** Math.max(0, power)
}
