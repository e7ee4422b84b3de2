import { RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import { keyOf, type KubeObject, type Resource } from '#controller-runtime/objects/objects.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { storePlaces } from '#kube/spec/backup-places.ts'
import type { KubeBackupStore } from '#kube/spec/backup-schema.ts'
import type { MySQLCluster } from '#kube/spec/mysql-cluster.ts'
import { volumeClaims, type StatefulSet } from '#kube/pods/stateful-set.ts'
import { secrets, type Secret } from '#kube/secrets/secrets.ts'

/** A Secret, or a claim, of which no more is asked than that there is one. */
type Found = KubeObject & Pick<Secret, 'data'>

/** What a store needs of an object: which one, and what is wrong with it; '' where nothing is. */
interface Need {
  readonly field: string
  readonly resource: Resource<Found>
  readonly name: string
  readonly complaint: (found: Found) => string
}

/**
 * Throws `REGENT_REFUSED` where `next` mounts what a store of backups needs, and that is not there or of no use, and
 * pods of `before` do not mount the same. Pods start without the Secrets: a cluster would be restarted for backups that
 * all fail. Without the claim no pod starts at all.
 */
export async function refuseUselessStore(
  client: Pick<KubeClient, 'get'>,
  cluster: MySQLCluster,
  { next, before }: { readonly next: StatefulSet; readonly before: StatefulSet | undefined },
  signal: AbortSignal,
): Promise<void> {
  const { backup, bootstrap } = cluster.spec
  const stores = [
    { field: 'spec.backup.store', place: storePlaces.backup, store: backup?.store },
    { field: 'spec.bootstrap.restore.store', place: storePlaces.restore, store: bootstrap?.restore?.store },
  ]
  const needs = stores.flatMap(({ field, place, store }) => {
    const isNew = [place.secrets.volume, place.claim.volume].some((name) => isOther(name, next, before))
    return store === undefined || !isNew ? [] : needsOf(field, store)
  })
  const complaints: string[] = []
  for (const { field, resource, name, complaint } of needs) {
    const found = await client.get(resource, { ...keyOf(cluster), name }, { signal })
    const why = found === undefined ? 'is not there' : complaint(found)
    if (why !== '') complaints.push(`${resource.kind} ${cluster.metadata.namespace}/${name} (${field}) ${why}`)
  }
  if (complaints.length > 0)
    throw new RegentError(
      'REGENT_REFUSED',
      say`${reported(complaints.join('; '))}: put that right, or take the store out of the spec; until then no pod is changed`,
    )
}

/** Whether pods would be made with another volume of that name. */
function isOther(name: string, next: StatefulSet, before: StatefulSet | undefined): boolean {
  const wanted = sourceOf(next, name)
  return wanted !== '' && wanted !== sourceOf(before, name)
}

/** The objects that a volume is made of, by name and key: the API server fills in more. */
function sourceOf(set: StatefulSet | undefined, name: string): string {
  const volume = set?.spec.template.spec?.volumes?.find((one) => one.name === name)
  const { projected, persistentVolumeClaim: claim } = volume ?? {}
  return [
    ...(claim === undefined ? [] : [claim.claimName]),
    ...(projected?.sources ?? []).map(({ secret }) =>
      [secret?.name, ...(secret?.items ?? []).map(({ key, path }) => `${key}>${path}`)].join(','),
    ),
  ].join(' ')
}

function needsOf(field: string, store: KubeBackupStore): readonly Need[] {
  const { claim, credentialsSecret, caSecret, encryption } = store
  return [
    ...(claim === undefined ? [] : [need(`${field}.claim`, claim, () => '', volumeClaims)]),
    ...(credentialsSecret === undefined ? [] : [need(`${field}.credentialsSecret`, credentialsSecret, whyNoLogin)]),
    ...(caSecret === undefined ? [] : [need(`${field}.caSecret`, caSecret, (found) => whyLacks(found, 'ca.crt'))]),
    ...(encryption === undefined
      ? []
      : [need(`${field}.encryption`, encryption.secret, (found) => whyNoKey(found, encryption.key))]),
  ]
}

function need(field: string, name: string, complaint: Need['complaint'], resource: Resource<Found> = secrets): Need {
  return { field, resource, name, complaint }
}

function whyNoLogin(found: Found): string {
  return whyLacks(found, 'accessKeyId') || whyLacks(found, 'secretAccessKey')
}

function whyLacks({ data = {} }: Found, key: string): string {
  return (data[key] ?? '') === '' ? `has nothing under ${key}` : ''
}

/** As `keyOfStore` of the agents reads it; says nothing of what is there. */
function whyNoKey(found: Secret, key: string): string {
  const lacks = whyLacks(found, key)
  if (lacks !== '') return lacks
  const bytes = Buffer.from(found.data?.[key] ?? '', 'base64')
  return bytes.length === 32 || /^(?:[0-9a-fA-F]{64}(?:\s+|$))+$/.test(bytes.toString('latin1').trim())
    ? ''
    : `holds no key of backups under ${key}: 32 bytes are wanted, or 64 hexadecimal digits a line ("openssl rand -hex 32" makes one)`
}
