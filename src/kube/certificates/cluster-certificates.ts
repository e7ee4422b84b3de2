import { renewedChain, type ChainWish } from '#certificates/chain.ts'
import type { Moment } from '#certificates/issue.ts'
import { agentTlsName, managerTlsName } from '#common/tls/tls-names.ts'
import type { ClientTls, TlsMaterial } from '#common/tls/tls.ts'
import type { MySQLCluster } from '../spec/mysql-cluster.ts'
import { namesOf } from '../names/names.ts'
import { ownedBy } from '../spec/owned.ts'
import { dataOf, textIn, type Secret } from '../secrets/secrets.ts'

const dayMs = 86_400_000
const leafValidMs = 90 * dayMs
export const authorityValidMs = 3_650 * dayMs

/**
 * The Secrets with which managers and agents of a cluster know each other, as they are to be: what may stay stays, what
 * is due is renewed. Each cluster has an authority of its own, so that the agents of one are nobody to another; its key
 * and the managers' certificate are in a Secret that no pod mounts. Agents show one certificate, to managers as servers
 * and to each other as clients.
 * @param existing those that are there, by name
 * @param remembered the authority's Secret as it was before somebody deleted it. Deleting asks for a new authority;
 * until the agents have heard of that, which takes the kubelets a minute or two, managers show the certificate that
 * they showed before
 */
export async function certificatesOf(
  cluster: MySQLCluster,
  existing: ReadonlyMap<string, Secret>,
  moment: Moment,
  remembered?: Secret,
): Promise<readonly Secret[]> {
  const names = namesOf(cluster.metadata.name)
  const [authority, agents] = [existing.get(names.authority), existing.get(names.certificates)]
  const found = {
    // A cluster that lost its authority still has agents that trust it.
    bundle: textIn(authority, 'ca.crt') ?? textIn(agents, 'ca.crt'),
    key: textIn(authority, 'ca.key'),
    leaves: { agents: leafIn(agents), manager: leafIn(authority ?? remembered) },
  }
  const { bundle, key, leaves } = await renewedChain(found, wishOf(cluster), moment)
  const make = (name: string, texts: Readonly<Record<string, string>>): Secret =>
    ownedBy(cluster, {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'kubernetes.io/tls',
      metadata: { name },
      data: dataOf(texts),
    })
  return [
    make(names.authority, {
      'ca.crt': bundle,
      'ca.key': key,
      'tls.crt': leaves.manager.cert,
      'tls.key': leaves.manager.key,
    }),
    make(names.certificates, { 'ca.crt': bundle, 'tls.crt': leaves.agents.cert, 'tls.key': leaves.agents.key }),
  ]
}

/**
 * How a manager speaks to the agents of a cluster.
 * @param authority the Secret `<cluster>-ca` as it is now, read anew for every connection
 */
export function managerTlsFor(cluster: string, namespace: string, authority: () => Secret | undefined): ClientTls {
  return { servername: agentTlsName(cluster, namespace), certificates: { current: () => materialIn(authority()) } }
}

/** What a Secret of type `kubernetes.io/tls` holds; undefined where something is missing. */
export function materialIn(secret: Secret | undefined): TlsMaterial | undefined {
  const [cert, key, ca] = [textIn(secret, 'tls.crt'), textIn(secret, 'tls.key'), textIn(secret, 'ca.crt')]
  return cert === undefined || key === undefined || ca === undefined ? undefined : { cert, key, ca }
}

export function leafIn(secret: Secret | undefined): {
  readonly cert: string | undefined
  readonly key: string | undefined
} {
  return { cert: textIn(secret, 'tls.crt'), key: textIn(secret, 'tls.key') }
}

function wishOf({ metadata: { name, namespace = 'default' } }: MySQLCluster): ChainWish<'agents' | 'manager'> {
  return {
    authorityValidMs,
    leaves: {
      agents: { dns: [agentTlsName(name, namespace)], purposes: ['server', 'client'], validMs: leafValidMs },
      manager: { dns: [managerTlsName(name, namespace)], purposes: ['client'], validMs: leafValidMs },
    },
  }
}
