import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { JsonPatch } from '#controller-runtime/client/kube-client.ts'
import { keyText, type ObjectKey } from '#controller-runtime/objects/objects.ts'
import type { App } from '../app/app.ts'
import type { MySQLBackup } from '../backup/mysql-backup.ts'
import { defaultApp, validateApp } from './app-validation.ts'
import { validateMySQLBackup } from './backup-object-validation.ts'
import { validateMySQLCluster } from './cluster-validation.ts'
import { refusedNamesakes } from './namesakes.ts'
import type { AgentImage } from '../injection/agent-container.ts'
import { injectionPatch, type InjectablePod } from '../injection/inject.ts'
import type { MySQLCluster } from '../spec/mysql-cluster.ts'

/** What the webhooks know beside the request. */
export interface AdmissionSituation {
  /** The image of clusters that name none. */
  readonly defaults: ClusterDefaults
  /** What lifecycle agents run, in pods that ask for one. */
  readonly lifecycleAgent: AgentImage
  /** A cluster as it is stored: a request to scale has only the number in it. */
  readonly clusterOf: (key: ObjectKey) => MySQLCluster | undefined
}

interface ClusterDefaults {
  readonly image?: string | undefined
}

/** The part of an `admission.k8s.io/v1` request that is looked at. */
export interface AdmissionRequest {
  readonly uid: string
  readonly operation: string
  readonly namespace?: string
  /** Empty where the API server makes the name up, as of the pods of a Deployment. */
  readonly name?: string
  readonly subResource?: string
  readonly dryRun?: boolean
  readonly object?: unknown
  readonly oldObject?: unknown
}

export interface AdmissionReview {
  readonly apiVersion: 'admission.k8s.io/v1'
  readonly kind: 'AdmissionReview'
  readonly response: AdmissionResponse
}

export interface AdmissionResponse {
  readonly uid: string
  readonly allowed: boolean
  readonly status?: { readonly code: number; readonly message: string }
  readonly warnings?: readonly string[]
  readonly patchType?: 'JSONPatch'
  readonly patch?: string
}

type Reviewer = (request: AdmissionRequest) => AdmissionResponse

/**
 * What a request gets that a reviewer could not judge. A cluster would be stored unseen, and is refused. Pods are of
 * anybody: an error of HTTP leaves them to the webhook's `failurePolicy`, which is `Ignore`.
 */
type Unjudged = 'refused' | 'leftToPolicy'

export interface AdmissionRoute {
  readonly review: Reviewer
  readonly unjudged: Unjudged
}

/** The webhooks by the path that the API server posts to. */
export function admissionRoutes(situation: AdmissionSituation) {
  return {
    '/mutate/apps': { review: reviewAppDefaults, unjudged: 'refused' },
    '/mutate/mysqlclusters': { review: (request) => reviewDefaults(request, situation.defaults), unjudged: 'refused' },
    '/mutate/pods': { review: (request) => reviewPod(request, situation.lifecycleAgent), unjudged: 'leftToPolicy' },
    '/validate/apps': { review: reviewApp, unjudged: 'refused' },
    '/validate/mysqlbackups': { review: (request) => reviewBackup(request, situation), unjudged: 'refused' },
    '/validate/mysqlclusters': { review: (request) => reviewCluster(request, situation), unjudged: 'refused' },
  } satisfies Readonly<Record<string, AdmissionRoute>>
}

/**
 * The request in what the API server posted. Throws `REGENT_BAD_REQUEST`: such a one cannot be answered with a review,
 * which names the request it is about.
 */
export function requestIn(review: unknown): AdmissionRequest {
  const { apiVersion, kind, request } = (isObject(review) ? review : {}) as {
    readonly apiVersion?: unknown
    readonly kind?: unknown
    readonly request?: unknown
  }
  if (apiVersion !== 'admission.k8s.io/v1' || kind !== 'AdmissionReview')
    throw new RegentError('REGENT_BAD_REQUEST', say`the body is no AdmissionReview of admission.k8s.io/v1`)
  if (!isObject(request) || typeof request['uid'] !== 'string' || typeof request['operation'] !== 'string')
    throw new RegentError('REGENT_BAD_REQUEST', say`the AdmissionReview has no request with uid and operation`)
  return request as unknown as AdmissionRequest
}

export function reviewWith(response: AdmissionResponse): AdmissionReview {
  return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response }
}

/**
 * Says why, with the code and the remedy of the catalogue.
 * @param code HTTP status that the client gets. 409 would make clients try again: to them it is a conflict of versions
 */
export function refuse(
  { uid }: Pick<AdmissionRequest, 'uid'>,
  refusals: readonly RegentError[],
  code = 422,
): AdmissionResponse {
  return {
    uid,
    allowed: false,
    status: {
      code,
      message: refusals.map((one) => `${one.message} (${one.code}: ${one.remedyIn('kubernetes')})`).join('; '),
    },
  }
}

/** What is written into a cluster where it does not say it itself. */
function defaultMySQLCluster(
  next: MySQLCluster,
  before: MySQLCluster | undefined,
  defaults: ClusterDefaults,
): JsonPatch {
  // Somebody who replaces the resource without naming the image means the one that runs, not the one of the newest
  // chart.
  const image = before?.spec.image ?? defaults.image
  return image === undefined || next.spec.image !== undefined ? [] : [{ op: 'add', path: '/spec/image', value: image }]
}

function reviewDefaults(request: AdmissionRequest, defaults: ClusterDefaults): AdmissionResponse {
  const { uid, subResource = '', object, oldObject } = request
  if (subResource !== '' || !isCluster(object)) return { uid, allowed: true }
  return patched(request, defaultMySQLCluster(object, isCluster(oldObject) ? oldObject : undefined, defaults))
}

/** A pod that is made gets the lifecycle agent where its annotations ask for the agent. */
function reviewPod(request: AdmissionRequest, agent: AgentImage): AdmissionResponse {
  const { uid, operation, subResource = '', object } = request
  if (operation !== 'CREATE' || subResource !== '' || !isPod(object)) return { uid, allowed: true }
  try {
    return patched(request, injectionPatch(object, agent))
  } catch (error) {
    if (error instanceof RegentError) return refuse(request, [error])
    throw error
  }
}

function patched({ uid }: AdmissionRequest, patch: JsonPatch): AdmissionResponse {
  return patch.length === 0
    ? { uid, allowed: true }
    : { uid, allowed: true, patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(patch)).toString('base64') }
}

/**
 * The answer is all that comes of a review. Any client that reaches the port can post one, and an API server shows no
 * certificate unless it is told to: an Event on a cluster, or a line in the log, could be of anybody's making.
 */
function reviewCluster(
  request: AdmissionRequest,
  { clusterOf }: Pick<AdmissionSituation, 'clusterOf'>,
): AdmissionResponse {
  const { uid, operation, subResource } = request
  if (operation === 'DELETE') return { uid, allowed: true }
  try {
    const { next, before } = subResource === 'scale' ? scaled(request, clusterOf) : written(request)
    const { refusals, warnings } = validateMySQLCluster(next, before)
    const all = [...refusals, ...refusedNamesakes(next, before, clusterOf)]
    if (all.length > 0) return refuse(request, all)
    return { uid, allowed: true, ...(warnings.length > 0 && { warnings }) }
  } catch (error) {
    if (error instanceof RegentError) return refuse(request, [error])
    throw error
  }
}

function reviewAppDefaults(request: AdmissionRequest): AdmissionResponse {
  const { uid, subResource = '', object, oldObject } = request
  if (subResource !== '' || !isApp(object)) return { uid, allowed: true }
  return patched(request, defaultApp(object, isApp(oldObject) ? oldObject : undefined))
}

function reviewApp(request: AdmissionRequest): AdmissionResponse {
  const { uid, operation, object, oldObject } = request
  if (operation === 'DELETE') return { uid, allowed: true }
  if (!isApp(object))
    return refuse(request, [new RegentError('REGENT_BAD_REQUEST', say`the object has no metadata or no spec`)])
  const { refusals, warnings } = validateApp(object, operation === 'UPDATE' && isApp(oldObject) ? oldObject : undefined)
  if (refusals.length > 0) return refuse(request, refusals)
  return { uid, allowed: true, ...(warnings.length > 0 && { warnings }) }
}

function reviewBackup(
  request: AdmissionRequest,
  { clusterOf }: Pick<AdmissionSituation, 'clusterOf'>,
): AdmissionResponse {
  const { uid, operation, object, oldObject, namespace = '' } = request
  if (operation === 'DELETE') return { uid, allowed: true }
  if (!isBackup(object))
    return refuse(request, [new RegentError('REGENT_BAD_REQUEST', say`the object has no metadata or no spec`)])
  const before = operation === 'UPDATE' && isBackup(oldObject) ? oldObject : undefined
  const cluster = clusterOf({ namespace, name: String(object.spec.cluster) })
  const { refusals, warnings } = validateMySQLBackup(object, before, cluster)
  if (refusals.length > 0) return refuse(request, refusals)
  return { uid, allowed: true, ...(warnings.length > 0 && { warnings }) }
}

interface Judged {
  readonly next: MySQLCluster
  readonly before: MySQLCluster | undefined
}

function written({ object, oldObject, operation }: AdmissionRequest): Judged {
  if (!isCluster(object)) throw new RegentError('REGENT_BAD_REQUEST', say`the object has no metadata or no spec`)
  return { next: object, before: operation === 'UPDATE' && isCluster(oldObject) ? oldObject : undefined }
}

function scaled(request: AdmissionRequest, clusterOf: AdmissionSituation['clusterOf']): Judged {
  const { object, namespace = '', name = '' } = request
  const replicas = isObject(object) && isObject(object['spec']) ? object['spec']['replicas'] : undefined
  const key = { namespace, name }
  const before = clusterOf(key)
  if (before === undefined)
    throw new RegentError('REGENT_REFUSED', say`cluster ${keyText(key)} is not known here yet; try again`)
  if (typeof replicas !== 'number') throw new RegentError('REGENT_BAD_REQUEST', say`the Scale has no spec.replicas`)
  return { next: { ...before, spec: { ...before.spec, instances: replicas } }, before }
}

function isCluster(object: unknown): object is MySQLCluster {
  return hasSpec(object)
}

function isBackup(object: unknown): object is MySQLBackup {
  return hasSpec(object)
}

function isApp(object: unknown): object is App {
  return hasSpec(object)
}

function hasSpec(object: unknown): boolean {
  return isObject(object) && isObject(object['metadata']) && isObject(object['spec'])
}

function isPod(object: unknown): object is InjectablePod {
  return (
    isObject(object) &&
    isObject(object['metadata']) &&
    isObject(object['spec']) &&
    Array.isArray(object['spec']['containers'])
  )
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
