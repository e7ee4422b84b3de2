import type { KubeObject, Resource } from '#controller-runtime/objects/objects.ts'
import { newAccountSecret, passwordFor } from '#common/mysql/account-password.ts'
import type { Random } from '#common/ports/ports.ts'
import type { MySQLCluster } from '../spec/mysql-cluster.ts'
import { annotations, namesOf } from '../names/names.ts'
import { ownedBy } from '../spec/owned.ts'
import { mysqlPort } from '../objects/services.ts'

export interface Secret extends KubeObject {
  readonly type?: string
  /** Base64, as the API gives it. */
  readonly data?: Readonly<Record<string, string>>
}

export const secrets: Resource<Secret> = {
  group: '',
  version: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  namespaced: true,
}

/**
 * In the internal Secret, once they were rotated: of which generation the passwords in the other two are. Never applied
 * with the rest: see `password-rotation.ts`.
 */
export const passwordGeneration = 'password-generation'

/** The type that Service Binding names for it (spec for Kubernetes 1.1.0, "Provisioned Service"). */
const bindingType = 'servicebinding.io/mysql'

/**
 * The Secrets of a cluster as they are to be. What is there stays. They stay also without their cluster where its
 * volumes do: whoever makes it again over these needs the same passwords.
 * @param existing those that are there, by name; with that of `spec.tls`, by whose authority clients know the servers
 */
export function secretsOf(
  cluster: MySQLCluster,
  existing: ReadonlyMap<string, Secret>,
  random: Random,
): readonly Secret[] {
  const names = namesOf(cluster.metadata.name)
  const { [annotations.rotatePasswords]: asked } = cluster.metadata.annotations ?? {}
  const internal = existing.get(names.internal)
  const agentToken = textIn(internal, 'agent-token') ?? random.hex(64)
  const authority = textIn(existing.get(cluster.spec.tls.secretName ?? ''), 'ca.crt')
  const accountSecret = textIn(internal, 'account-secret') ?? newAccountSecret(random.hex(64))
  const password = (user: string) => passwordFor(accountSecret, user, textIn(internal, passwordGeneration))
  const made = secret(cluster, names.internal, 'Opaque', { 'agent-token': agentToken, 'account-secret': accountSecret })
  return [
    // Passwords that are new anyway are what its annotation asks for.
    internal === undefined && asked !== undefined
      ? { ...made, metadata: { ...made.metadata, annotations: { [annotations.rotatePasswords]: asked } } }
      : made,
    secret(cluster, names.client, bindingType, {
      ...bindingOf(cluster, password('client')),
      ...(authority !== undefined && { 'ca.crt': authority }),
    }),
    secret(cluster, names.admin, 'Opaque', { username: 'admin', password: password('admin') }),
  ]
}

function secret(cluster: MySQLCluster, name: string, type: string, texts: Readonly<Record<string, string>>): Secret {
  const made: Secret = ownedBy(cluster, {
    apiVersion: 'v1',
    kind: 'Secret',
    type,
    metadata: { name },
    data: dataOf(texts),
  })
  if (cluster.spec.volumes.whenDeleted === 'Delete') return made
  const { ownerReferences: _owner, ...metadata } = made.metadata
  return { ...made, metadata }
}

/** All that a client needs, under the keys of Service Binding. */
function bindingOf(cluster: MySQLCluster, password: string): Readonly<Record<string, string>> {
  const { name, namespace = 'default' } = cluster.metadata
  const host = `${namesOf(name).primary}.${namespace}.svc`
  const port = String(cluster.spec.services.primary.port ?? mysqlPort)
  return {
    type: 'mysql',
    provider: 'regent',
    host,
    port,
    username: 'client',
    password,
    database: 'app',
    uri: `mysql://client:${password}@${host}:${port}/app`,
  }
}

/** As the API takes it. */
export function dataOf(texts: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]))
}

/** Undefined where there is no Secret, no such key, or nothing under it. */
export function textIn(secret: Secret | undefined, key: string): string | undefined {
  const text = Buffer.from(secret?.data?.[key] ?? '', 'base64').toString('utf8')
  return text === '' ? undefined : text
}
