import { isPathPart } from '#common/http/kube-path.ts'
import type { KubeObject, ObjectKey, OwnerReference, Resource } from '#controller-runtime/objects/objects.ts'
import { controllerOf } from '#controller-runtime/objects/owner-references.ts'
import { labels } from '../names/names.ts'
import { statefulSets } from '../pods/stateful-set.ts'
import { instanceSetLabel, marks } from './marks.ts'

/** What makes the pods of a component: a StatefulSet, or what has the same fields. */
export interface Owner extends KubeObject {
  readonly spec?: {
    readonly replicas?: number
    readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> }
    /** A StatefulSet says here which number its first pod has. An InstanceSet lists numbers here. */
    readonly ordinals?: { readonly start?: number }
    /** The roles of an InstanceSet. */
    readonly roles?: readonly Role[]
    /** Templates of an InstanceSet, whose pods have names of their own. */
    readonly instances?: readonly object[]
    /** Pods that an InstanceSet does not have, though their numbers would be next. */
    readonly offlineInstances?: readonly string[]
    /** An InstanceSet's numbers go on over all of its templates. */
    readonly flatInstanceOrdinal?: boolean
  }
  readonly status?: {
    readonly observedGeneration?: number
    readonly readyReplicas?: number
    readonly replicas?: number
    readonly updatedReplicas?: number
  }
}

export interface Role {
  readonly name: string
  /** At most one pod has it. */
  readonly isExclusive?: boolean
}

/** Where an owner is. */
export interface OwnerPlace {
  readonly resource: Resource<Owner>
  readonly key: ObjectKey
  /** Undefined where a label alone names it. */
  readonly uid: string | undefined
}

const workloads = 'workloads.kubeblocks.io'
const instanceSets: Resource<Owner> = {
  group: workloads,
  version: 'v1',
  kind: 'InstanceSet',
  plural: 'instancesets',
  namespaced: true,
}

/** Kinds of owners, by API group and kind. */
const kinds: Readonly<Record<string, Resource<Owner>>> = {
  'apps/StatefulSet': statefulSets,
  [`${workloads}/InstanceSet`]: instanceSets,
  // An Instance has one pod, and the pod has no peers, so nothing is exclusive.
  [`${workloads}/Instance`]: { ...instanceSets, kind: 'Instance', plural: 'instances' },
}

/**
 * The owner of a pod: its controller, or where it has none, what its label names. Undefined for pods of other kinds,
 * such as a Deployment's, whose members have no names that last.
 */
export function ownerPlaceOf(pod: KubeObject): OwnerPlace | undefined {
  const namespace = pod.metadata.namespace ?? ''
  const controller = controllerOf(pod)
  const name = controller?.name ?? pod.metadata.labels?.[instanceSetLabel] ?? ''
  // What a pod says of its owner is what whoever made the pod wrote.
  if (!isObjectName(name)) return undefined
  if (controller === undefined) return { resource: instanceSets, key: { namespace, name }, uid: undefined }
  const resource = resourceOf(controller)
  return resource && { resource, key: { namespace, name }, uid: controller.uid }
}

function resourceOf({ apiVersion, kind }: OwnerReference): Resource<Owner> | undefined {
  const [group = '', version = '', ...more] = apiVersion.split('/')
  const known = `${group}/${kind}`
  if (!Object.hasOwn(kinds, known) || more.length > 0 || !isPathPart('version', version)) return undefined
  const resource = kinds[known]
  return resource && { ...resource, version }
}

/** Whether the pod is one of the owner's: peers are told by more than labels, which anybody may copy. */
export function isMember(pod: KubeObject, owner: Owner): boolean {
  const controller = controllerOf(pod)
  if (controller !== undefined) return controller.uid === owner.metadata.uid
  return pod.metadata.labels?.[instanceSetLabel] === owner.metadata.name
}

/** By which labels its pods are listed; undefined where it selects by no label, since that would be all pods. */
export function selectorOf({ spec }: Owner): string | undefined {
  const wanted = Object.entries(spec?.selector?.matchLabels ?? {}).map(([label, value]) => `${label}=${value}`)
  return wanted.length > 0 ? wanted.join(',') : undefined
}

/**
 * The roles its pods may have: from the annotation `regent.dev/roles`, else the InstanceSet's own. Undefined where
 * neither says any: then every role that can be a label is taken as it is said, and none is exclusive.
 * @throws SyntaxError where the annotation is no list of roles
 */
export function rolesOf({ metadata, spec }: Owner): readonly Role[] | undefined {
  const written = metadata.annotations?.[marks.roles]
  if (written === undefined) return spec?.roles
  const roles: unknown = JSON.parse(written)
  if (!Array.isArray(roles) || !roles.every(isRole))
    throw new SyntaxError('it must be a list like [{"name":"primary","isExclusive":true}]')
  return roles
}

function isRole(value: unknown): value is Role {
  if (typeof value !== 'object' || value === null) return false
  const { name, isExclusive = false } = value as Partial<Record<keyof Role, unknown>>
  return typeof name === 'string' && isLabelValue(name) && typeof isExclusive === 'boolean'
}

/** Whether the object is of a cluster that Regent governs: its record counts there, and no Event. */
export function isGoverned({ metadata }: KubeObject): boolean {
  return metadata.labels?.[labels.cluster] !== undefined
}

/** Whether an object may have that name. What somebody wrote into an Event is asked for as part of a path. */
export function isObjectName(text: string): boolean {
  return text.length <= 253 && /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(text)
}

/** Whether the API server takes it as the value of a label. */
export function isLabelValue(text: string): boolean {
  return /^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/.test(text)
}
