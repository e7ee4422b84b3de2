import { RegentError } from '#common/errors/errors.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import { keyOf } from '#controller-runtime/objects/objects.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { complaintAboutClientCertificate } from '#kube/certificates/client-certificate.ts'
import type { MySQLCluster } from '#kube/spec/mysql-cluster.ts'
import { namesOf } from '#kube/names/names.ts'
import { clientCertificateVolume } from '#kube/pods/pod-template.ts'
import { secrets, type Secret } from '#kube/secrets/secrets.ts'
import { statefulSets } from '#kube/pods/stateful-set.ts'

interface Parts {
  readonly client: Pick<KubeClient, 'get'>
  readonly clock: { wallMs(): number }
}

/** The Secret that `spec.tls` names; undefined where it names none, or it is not there. */
export async function clientCertificateOf(
  client: Pick<KubeClient, 'get'>,
  cluster: MySQLCluster,
  signal: AbortSignal,
): Promise<Secret | undefined> {
  const { secretName } = cluster.spec.tls
  return secretName === undefined ? undefined : client.get(secrets, { ...keyOf(cluster), name: secretName }, { signal })
}

/**
 * Throws `REGENT_BAD_CERTIFICATE` where the Secret that `spec.tls` names cannot be used as it is now: servers that have
 * shown it before go on with what they have.
 */
export async function checkClientCertificate(
  { client, clock }: Parts,
  cluster: MySQLCluster,
  signal: AbortSignal,
): Promise<void> {
  const complaint = await complaintOf({ client, clock }, cluster, signal)
  if (complaint !== undefined)
    throw new RegentError(
      'REGENT_BAD_CERTIFICATE',
      say`${complaint}; servers go on with the certificate they have, and those that start meanwhile with their own`,
    )
}

/**
 * The same for a Secret that no pod of the cluster was made with: no server is restarted for what it could not show,
 * nor a cluster made.
 */
export async function refuseNewCertificate(
  { client, clock }: Parts,
  cluster: MySQLCluster,
  signal: AbortSignal,
): Promise<void> {
  const complaint = await complaintOf({ client, clock }, cluster, signal)
  if (complaint === undefined) return
  const set = await client.get(
    statefulSets,
    { ...keyOf(cluster), name: namesOf(cluster.metadata.name).statefulSet },
    { signal },
  )
  const volume = set?.spec.template.spec?.volumes?.find(({ name }) => name === clientCertificateVolume)
  if (volume?.secret?.secretName !== cluster.spec.tls.secretName)
    throw new RegentError(
      'REGENT_BAD_CERTIFICATE',
      say`${complaint}; until it can be used nothing of this spec is applied`,
    )
}

async function complaintOf(
  { client, clock }: Parts,
  cluster: MySQLCluster,
  signal: AbortSignal,
): Promise<Sentence | undefined> {
  const { secretName } = cluster.spec.tls
  if (secretName === undefined) return undefined
  const complaint = complaintAboutClientCertificate(await clientCertificateOf(client, cluster, signal), clock.wallMs())
  return complaint === undefined
    ? undefined
    : say`Secret ${cluster.metadata.namespace}/${secretName} (spec.tls.secretName) ${complaint}`
}
