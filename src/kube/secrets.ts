import type { KubeObject, Resource } from '../controller-runtime/objects.ts'
import type { Random } from '../common/ports.ts'
import type { MySQLCluster } from './mysql-cluster.ts'
import { annotations, namesOf } from './names.ts'
import { ownedBy } from './owned.ts'
import { mysqlPort } from './services.ts'

export interface Secret extends KubeObject {
  readonly type?: string
  /** Base64, as the API gives it. */
  readonly data?: Readonly<Record<string, string>>
}

export const secrets: Resource<Secret> = { group: '', version: 'v1', kind: 'Secret', plural: 'secrets', namespaced: true }

/** The type that Service Binding names for it (spec for Kubernetes 1.1.0, "Provisioned Service"). */
const bindingType = 'servicebinding.io/mysql'

/** 128 bits, in characters that need no quoting anywhere. */
const passwordLength = 32

/**
 * The Secrets of a cluster as they are to be. What is there stays: a password changes only where the annotation `regent.dev/rotate` of the cluster has another value than when it was made.
 * @param existing those that are there, by name
 */
export function secretsOf(cluster: MySQLCluster, existing: ReadonlyMap<string, Secret>, random: Random): readonly Secret[] {
  const { name } = cluster.metadata
  const names = namesOf(name)
  const wanted = cluster.metadata.annotations?.[annotations.rotate] ?? ''
  const kept = (secret: string, key: string): string | undefined => {
    const found = existing.get(secret)
    if (found === undefined || (found.metadata.annotations?.[annotations.rotate] ?? '') !== wanted) return undefined
    return decoded(found.data?.[key])
  }
  const make = (secret: string, type: string, texts: Readonly<Record<string, string>>): Secret =>
    ownedBy(cluster, {
      apiVersion: 'v1',
      kind: 'Secret',
      type,
      metadata: { name: secret, annotations: { [annotations.rotate]: wanted } },
      data: Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
    })
  const clientPassword = kept(names.client, 'password') ?? random.hex(passwordLength)
  return [
    make(names.client, bindingType, bindingOf(cluster, clientPassword)),
    make(names.admin, 'Opaque', { username: 'admin', password: kept(names.admin, 'password') ?? random.hex(passwordLength) }),
    make(names.internal, 'Opaque', {
      'agent-token': kept(names.internal, 'agent-token') ?? random.hex(64),
      // Passwords of Regent's own accounts are derived from it: another one would lock every agent out, so a rotation leaves it.
      'account-secret': decoded(existing.get(names.internal)?.data?.['account-secret']) ?? random.hex(64),
    }),
  ]
}

/** All that a client needs, under the keys of Service Binding. */
function bindingOf(cluster: MySQLCluster, password: string): Readonly<Record<string, string>> {
  const { name, namespace = 'default' } = cluster.metadata
  const host = `${namesOf(name).primary}.${namespace}.svc`
  const port = String(cluster.spec.services.primary.port ?? mysqlPort)
  return { type: 'mysql', provider: 'regent', host, port, username: 'client', password, database: 'app', uri: `mysql://client:${password}@${host}:${port}/app` }
}

function decoded(data: string | undefined): string | undefined {
  const text = data === undefined ? '' : Buffer.from(data, 'base64').toString('utf8')
  return text === '' ? undefined : text
}
