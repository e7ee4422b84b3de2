import { isDeepStrictEqual } from 'node:util'
import { Value } from 'typebox/value'
import type { ErrorCode } from '#common/errors/error-catalogue.ts'
import { codeOf, described, RegentError } from '#common/errors/errors.ts'
import { reported, say, type Sentence } from '#common/sentence/sentence.ts'
import { oldestVersion } from '#common/mysql/mysql-version.ts'
import { complaintAbout } from '#common/input/schema-complaint.ts'
import { keyOf } from '#controller-runtime/objects/objects.ts'
import { changedFixedSettings, checkServerSettings } from '#failover/settings/check.ts'
import { whyTooExact } from '#failover/protocol/router-settings.ts'
import { acksFor, costOfSize, countsAcks } from '#failover/protocol/spec.ts'
import { instanceName } from '#topology/snapshot/member.ts'
import { coreSpecOf } from '../spec/core-spec.ts'
import type { MySQLCluster } from '../spec/mysql-cluster.ts'
import { isDowngrade, isImageName, isPinned, namesTooOld } from './mysql-image.ts'
import { commonLabels, group, longestClusterName, namesOf } from '../names/names.ts'
import { agentContainer, clientCertificateVolume, mysqlContainer } from '../pods/pod-template.ts'
import { backupWarnings, complaintsAboutBackups, whyLateBootstrap } from './backup-validation.ts'
import { complaintsAboutLifecycle, lifecycleWarnings } from './lifecycle-validation.ts'
import { whyNowhere } from './impossible-places.ts'
import { complaintsAboutPods } from './impossible-pods.ts'
import { quantityOf } from '../spec/quantity.ts'
import { mysqlClusterSpecSchema, type MySQLClusterSpec } from '../spec/spec-schema.ts'
import { withoutNulls } from '../spec/without-nulls.ts'

/** What is to be said of a cluster before it is stored. */
export interface Verdict {
  /** Each names field, value and what is allowed. None: it may be stored. */
  readonly refusals: readonly RegentError[]
  /** What is legal and dangerous. */
  readonly warnings: readonly string[]
}

/**
 * Judges a cluster that is to be made or changed.
 * @param before as it is stored, with its status; undefined for a new one. Where the spec stays as it is everything is
 * allowed: nobody's labels, and none of Regent's own writes, may depend on what an older Regent let in
 */
export function validateMySQLCluster(next: MySQLCluster, before?: MySQLCluster): Verdict {
  if (before !== undefined && isDeepStrictEqual(next.spec, before.spec)) return { refusals: [], warnings: [] }
  const filled = Value.Default(mysqlClusterSpecSchema, structuredClone(next.spec)) as MySQLClusterSpec
  const spec = withoutNulls(mysqlClusterSpecSchema, filled)
  const complaint = complaintAbout(mysqlClusterSpecSchema, spec)
  if (complaint !== undefined)
    return { refusals: [refusal('REGENT_BAD_REQUEST', say`spec: ${reported(complaint)}`)], warnings: [] }
  const cluster: MySQLCluster = { ...next, spec }
  const rules = [
    ...rulesOfAny(cluster),
    () => judgeSwitchover(spec),
    ...(before === undefined ? rulesOfNew(cluster) : rulesOfChange(cluster, before)),
  ]
  const refusals = rules.flatMap((rule) => [...rule()])
  return { refusals, warnings: refusals.length > 0 ? [] : warningsAbout(cluster) }
}

/**
 * The rules that any cluster must keep, for one that is stored already: the API server takes everything its schema
 * allows while no webhook answers.
 * @returns what the spec breaks, in a sentence; '' where it may be brought about
 */
export function whyUnfollowable(cluster: MySQLCluster): string {
  return rulesOfAny({ ...cluster, spec: withoutNulls(mysqlClusterSpecSchema, cluster.spec) })
    .flatMap((rule) => [...rule()])
    .map(({ message }) => message)
    .join('; ')
}

type Rule = () => Iterable<RegentError>

function rulesOfAny(cluster: MySQLCluster): readonly Rule[] {
  const { spec } = cluster
  return [
    () => orThrown(() => coreSpecOf(keyOf(cluster), spec)),
    () => orThrown(() => checkServerSettings({ ...spec, where: 'spec.settings' })),
    () => judgeAcks(spec),
    () => judgeImage(spec),
    () => judgeStorage(spec),
    () => judgeResources('spec.resources', spec.resources),
    () => judgeResources('spec.agentResources', spec.agentResources),
    () => judgeTls(cluster),
    () => judgeRouter(spec),
    () => judgePod(spec),
    () => [...complaintsAboutPods(spec)].map((sentence) => refusal('REGENT_BAD_REQUEST', sentence)),
    () => [...complaintsAboutLifecycle(cluster)].map((sentence) => refusal('REGENT_BAD_REQUEST', sentence)),
    () => [...complaintsAboutBackups(cluster)].map((sentence) => refusal('REGENT_BAD_REQUEST', sentence)),
    () => judgePrimary(cluster),
    () => judgeScheduling(cluster),
  ]
}

function rulesOfNew({ metadata: { name } }: MySQLCluster): readonly Rule[] {
  return [() => judgeName(name)]
}

function rulesOfChange(next: MySQLCluster, before: MySQLCluster): readonly Rule[] {
  return [
    () => judgeFixed(next.spec, before.spec),
    () => judgeShrink(next.spec, before.spec),
    () => judgeDowngrade(next.spec, before.spec),
    () => judgeScaleIn(next, before),
    () => judgeBootstrap(next, before),
  ]
}

function* judgeName(name: string): Generator<RegentError> {
  // Still to be generated where it is empty.
  if (name.length > longestClusterName)
    yield bad(
      'metadata.name',
      name,
      `at most ${longestClusterName} characters: names of Services and accounts are made of it`,
    )
  else if (name !== '' && !/^[a-z]([a-z0-9-]*[a-z0-9])?$/.test(name))
    yield bad('metadata.name', name, 'lower-case letters, digits and dashes, a letter first and no dash last')
}

function* judgeAcks({ acks, instances }: MySQLClusterSpec): Generator<RegentError> {
  if (typeof acks === 'number' && acks >= instances)
    yield bad('spec.acks', acks, `less than spec.instances, ${instances}: only replicas acknowledge`)
}

/** Judged where a person says it now: a cluster that is stored with it runs, and its switchovers are undone. */
function* judgeSwitchover({ switchover: { graceMs, timeoutMs } }: MySQLClusterSpec): Generator<RegentError> {
  if (graceMs > timeoutMs)
    yield bad(
      'spec.switchover.graceMs',
      graceMs,
      `at most spec.switchover.timeoutMs, ${timeoutMs}: every switchover with a statement that runs would be undone before its grace ends`,
    )
}

function* judgeImage({ image }: MySQLClusterSpec): Generator<RegentError> {
  if (image === undefined) return
  if (!isImageName(image))
    yield bad(
      'spec.image',
      image,
      'an image such as registry.example/mysql:8.4: a lower-case name, and one tag or none',
    )
  else if (namesTooOld(image))
    yield refusal('REGENT_MYSQL_TOO_OLD', say`spec.image is "${image}"; allowed is MySQL ${oldestVersion} or newer`)
}

function* judgeStorage({ storage, lowSpaceBytes }: MySQLClusterSpec): Generator<RegentError> {
  // A primary that closed for lack of space opens again at twice as much.
  if (quantityOf(storage.size) <= 2 * lowSpaceBytes)
    yield bad(
      'spec.storage.size',
      storage.size,
      `more than twice spec.lowSpaceBytes, ${lowSpaceBytes}: with less free space a primary takes no writes`,
    )
}

function* judgeResources(field: string, resources: MySQLClusterSpec['resources']): Generator<RegentError> {
  const { requests = {}, limits = {} } = (resources ?? {}) as Readonly<
    Record<string, Readonly<Record<string, unknown>>>
  >
  for (const [kind, quantities] of [
    ['requests', requests],
    ['limits', limits],
  ] as const) {
    for (const [name, quantity] of Object.entries(quantities)) {
      if (Number.isNaN(quantityOf(String(quantity))))
        yield bad(`${field}.${kind}.${name}`, quantity, 'a quantity such as 500m or 2Gi')
    }
  }
  for (const [name, request] of Object.entries(requests)) {
    if (quantityOf(String(request)) > quantityOf(String(limits[name])))
      yield bad(`${field}.requests.${name}`, request, `at most its limit, ${String(limits[name])}`)
  }
}

function* judgeTls({ metadata: { name }, spec: { tls } }: MySQLCluster): Generator<RegentError> {
  const { secretName } = tls
  if (secretName === undefined) return
  const { client, admin, internal, certificates, authority } = namesOf(name)
  const own: readonly string[] = [client, admin, internal, certificates, authority]
  if (!/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(secretName))
    yield bad('spec.tls.secretName', secretName, 'the name of a Secret')
  else if (own.includes(secretName)) yield bad('spec.tls.secretName', secretName, 'a Secret that is not Regent’s own')
}

function* judgeRouter({ router, services, backup }: MySQLClusterSpec): Generator<RegentError> {
  const heartbeatMs = (backup?.heartbeat.everySeconds ?? 0) * 1_000
  const { reads } = services.replicas
  if (reads?.maxLagMs !== undefined) yield* judgeReads('spec.services.replicas', { reads }, heartbeatMs)
  if (router === undefined) return
  yield* judgeResources('spec.router.resources', router.resources)
  yield* judgeReads('spec.router', router, heartbeatMs)
}

function* judgeReads(
  field: string,
  said: Parameters<typeof whyTooExact>[0],
  heartbeatMs: number,
): Generator<RegentError> {
  const why = whyTooExact(said, heartbeatMs)
  if (why !== '') yield refusal('REGENT_BAD_REQUEST', say`${field}: ${why}`)
}

/** What Regent's own pods have already. */
const takenContainers = [mysqlContainer, agentContainer, 'launcher']
const takenVolumes = ['data', 'regent', 'tmp', 'config', 'secrets', 'certificates', clientCertificateVolume]

function* judgePod({ pod }: MySQLClusterSpec): Generator<RegentError> {
  const parts = [
    { field: 'spec.pod.containers', names: namesIn(pod.containers), taken: takenContainers },
    { field: 'spec.pod.volumes', names: namesIn(pod.volumes), taken: takenVolumes },
  ]
  for (const { field, names } of parts) {
    const twice = twiceIn(names.map(String))
    if (twice !== undefined) yield bad(field, twice, 'each name once')
  }
  for (const { field, names, taken } of parts)
    for (const name of names.filter((each) => taken.includes(String(each))))
      yield bad(field, name, `names other than ${taken.join(', ')}`)
  for (const name of [...Object.keys(pod.labels), ...Object.keys(pod.annotations)]) {
    if (name.startsWith(`${group}/`))
      yield bad('spec.pod', name, `labels and annotations that do not begin with ${group}/, which are Regent’s`)
  }
}

function namesIn(entries: unknown): readonly unknown[] {
  return ((entries ?? []) as readonly { readonly name?: unknown }[]).map(({ name }) => name)
}

function twiceIn(names: readonly string[]): string | undefined {
  return names.find((name, index) => names.indexOf(name) !== index)
}

/** Names in `never` beyond the spec's instances do no harm. */
function* judgePrimary({ metadata: { name }, spec: { instances, primary } }: MySQLCluster): Generator<RegentError> {
  const all = Array.from({ length: instances }, (_, ordinal) => instanceName(name, ordinal))
  if (!all.every((instance) => primary.never.includes(instance))) return
  yield bad('spec.primary.never', primary.never, `any but all of ${all.join(', ')}: nobody could lead`)
}

function* judgeScheduling({ metadata: { name }, spec }: MySQLCluster): Generator<RegentError> {
  const why = whyNowhere(spec.scheduling, { ...spec.pod.labels, ...commonLabels(name) })
  if (why !== '') yield refusal('REGENT_BAD_REQUEST', say`spec.scheduling: ${why}; no instance could run anywhere`)
}

function* judgeFixed(next: MySQLClusterSpec, before: MySQLClusterSpec): Generator<RegentError> {
  if (next.mode !== before.mode) yield fixed('spec.mode', next.mode, before.mode)
  if (next.services.routing !== before.services.routing)
    yield fixed('spec.services.routing', next.services.routing, before.services.routing)
  for (const { name, now, was } of changedFixedSettings(next.settings, before.settings))
    yield refusal(
      'REGENT_REFUSED',
      say`spec.settings.${name} is "${now}"; allowed is "${was}", which the data was made with: it cannot change, make a new cluster and load the data into it`,
    )
  const [now, then] = [next.storage.storageClassName, before.storage.storageClassName]
  if (now !== then) yield fixed('spec.storage.storageClassName', now, then)
}

function* judgeShrink({ storage }: MySQLClusterSpec, before: MySQLClusterSpec): Generator<RegentError> {
  const was = before.storage.size
  if (quantityOf(storage.size) < quantityOf(was))
    yield refusal(
      'REGENT_REFUSED',
      say`spec.storage.size is "${storage.size}"; allowed is "${was}" or more: a volume cannot shrink`,
    )
}

function* judgeDowngrade({ image }: MySQLClusterSpec, before: MySQLClusterSpec): Generator<RegentError> {
  if (image !== undefined && before.image !== undefined && isDowngrade(before.image, image)) {
    yield refusal(
      'REGENT_REFUSED',
      say`spec.image is "${image}"; allowed is the series of "${before.image}" or a newer one: mysqld does not start on data that a newer one has written`,
    )
  }
}

/**
 * So many of the instances that stay must hold what is acknowledged that the cluster goes on as durable as it is to be.
 * Where nothing is known of them the controller waits, as it does anyway.
 */
function* judgeScaleIn({ metadata, spec }: MySQLCluster, before: MySQLCluster): Generator<RegentError> {
  const { instances = [], primary } = before.status ?? {}
  if (spec.instances >= before.spec.instances || instances.length === 0) return
  const staying = Array.from({ length: spec.instances }, (_, ordinal) => instanceName(metadata.name, ordinal))
  const sound = instances
    .filter(({ name, inSyncSet }) => staying.includes(name) && (inSyncSet || name === primary))
    .filter(({ member = 'ONLINE' }) => member === 'ONLINE')
    .map(({ name }) => name)
  const needed = acksFor(coreSpecOf(keyOf(before), spec), spec.instances) + 1
  if (sound.length >= needed) return
  const missing = staying.filter((name) => !sound.includes(name)).join(', ')
  const remedy = say`bring back ${missing} first${countsAcks(spec) ? say`, or lower spec.acks` : ''}`
  const stay = sound.join(', ') || say`none`
  yield refusal(
    'REGENT_REFUSED',
    say`spec.instances is ${spec.instances}; of those that would stay ${stay} takes part, and durability needs ${needed}: ${remedy}`,
  )
}

function* judgeBootstrap(next: MySQLCluster, before: MySQLCluster): Generator<RegentError> {
  const why = whyLateBootstrap(next, before)
  if (why !== '') yield refusal('REGENT_REFUSED', why)
}

function warningsAbout(cluster: MySQLCluster): readonly string[] {
  const { spec } = cluster
  const { instances, acks, image = '', volumes, agentResources, pod, switchover, durability } = spec
  const whenLost = durability === 'strict' ? 'writes wait until it is back' : 'writes go on unprotected'
  const cost = costOfSize(spec, instances)
  const warnings: readonly (readonly [boolean, string])[] = [
    [instances === 1, 'spec.instances is 1: nothing protects the data, and there is nobody to fail over to'],
    [cost === undefined && instances === 2, `spec.instances is 2: when one is lost ${whenLost}; use 3`],
    [cost !== undefined, `spec.instances is ${instances}: ${cost}`],
    [
      spec.mode === 'group' && typeof acks === 'number',
      `spec.acks is ${acks}, without effect in mode ${spec.mode}: a majority of the group acknowledges`,
    ],
    [
      instances > 1 && countsAcks(spec) && acks === 0,
      'spec.acks is 0: a failover may lose writes that clients saw acknowledged',
    ],
    [
      limitOf(agentResources, 'cpu') !== undefined,
      'spec.agentResources.limits.cpu is set: an agent that is throttled notices late and fails over late',
    ],
    [
      spec.image !== undefined && !isPinned(image),
      `spec.image "${image.slice(0, 80)}" names no version: a pod that is made again may run another one`,
    ],
    [volumes.whenDeleted === 'Delete', 'spec.volumes.whenDeleted is Delete: the data goes with the resource'],
    [
      pod.terminationGracePeriodSeconds * 1_000 <= switchover.timeoutMs,
      'spec.pod.terminationGracePeriodSeconds is shorter than spec.switchover.timeoutMs: a primary may be killed before it has handed over',
    ],
  ]
  return [
    ...warnings.filter(([isDue]) => isDue).map(([, words]) => words),
    ...lifecycleWarnings(cluster),
    ...backupWarnings(cluster),
  ]
}

function limitOf(resources: MySQLClusterSpec['resources'], name: string): unknown {
  return (resources?.['limits'] as Readonly<Record<string, unknown>> | undefined)?.[name]
}

function* orThrown(check: () => unknown): Generator<RegentError> {
  try {
    check()
  } catch (error) {
    yield refusal(codeOf(error), say`${described(error)}`)
  }
}

function bad(field: string, value: unknown, allowed: string): RegentError {
  return refusal('REGENT_BAD_REQUEST', say`${field} is ${preview(value)}; allowed is ${allowed}`)
}

function fixed(field: string, value: unknown, was: unknown): RegentError {
  return refusal(
    'REGENT_REFUSED',
    say`${field} is ${preview(value)}; allowed is ${preview(was)}: it cannot change, make a new cluster`,
  )
}

function preview(value: unknown): string {
  return value === undefined
    ? 'not given'
    : JSON.stringify(typeof value === 'string' ? value.slice(0, 80) : value).slice(0, 82)
}

function refusal(code: ErrorCode, message: Sentence): RegentError {
  return new RegentError(code, message)
}
