import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { KubeClient } from '../client/kube-client.ts'
import { apiVersionOf, type KubeObject, type Resource } from '../objects/objects.ts'

export interface ApplyAs {
  /**
   * The API server remembers by this name which fields are ours. The name must never change: the fields of the old name
   * would stay for ever.
   */
  readonly fieldManager: string
  /**
   * Whether fields that another manager set otherwise become ours; they do unless told not to, then that is a conflict.
   */
  readonly force?: boolean
  readonly signal?: AbortSignal
}

type Applier = Pick<KubeClient, 'apply'>

/**
 * Makes the object what `intent` says, creating it where there is none. `intent` holds exactly the fields that are
 * ours: one that was in it last time and is not any more is removed, and what others set beside them stays. So it is
 * built from nothing each time, never from an object that was read. With a `metadata.uid` it concerns that very object:
 * it is a conflict where that is gone, and nothing is created.
 */
export async function applyObject<Kind extends KubeObject>(
  client: Applier,
  resource: Resource<Kind>,
  intent: KubeObject,
  as: ApplyAs,
): Promise<Kind> {
  const { status: _status, ...rest } = intent as KubeObject & { readonly status?: unknown }
  return client.apply(resource, applicable(resource, rest), requestOf(as))
}

/**
 * The same for the status, which is a resource of its own: only `apiVersion`, `kind`, name, namespace, uid and `status`
 * of `intent` are sent.
 */
export async function applyStatus<Kind extends KubeObject>(
  client: Applier,
  resource: Resource<Kind>,
  intent: KubeObject & { readonly status: object },
  as: ApplyAs,
): Promise<Kind> {
  const { name, namespace, uid } = intent.metadata
  const metadata = { name, ...(namespace === undefined ? {} : { namespace }), ...(uid === undefined ? {} : { uid }) }
  const { apiVersion, kind, status } = intent
  return client.apply(resource, applicable(resource, { apiVersion, kind, metadata, status }), {
    ...requestOf(as),
    subresource: 'status',
  })
}

/**
 * Fields that the API server itself sets. The server refuses an intent with `managedFields`; an old `resourceVersion`
 * would be a conflict each time.
 */
const serversOwn: ReadonlySet<string> = new Set([
  'managedFields',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'selfLink',
])

function applicable<Intent extends KubeObject>(resource: Resource, intent: Intent): Intent {
  const { apiVersion, kind, metadata } = intent
  if (apiVersion !== apiVersionOf(resource) || kind !== resource.kind) {
    throw new RegentError(
      'REGENT_INTERNAL',
      say`${kind} ${metadata.name} of ${apiVersion} cannot be applied as ${resource.kind} of ${apiVersionOf(resource)}`,
    )
  }
  if ((metadata.namespace !== undefined) !== resource.namespaced) {
    throw new RegentError(
      'REGENT_INTERNAL',
      say`${kind} ${metadata.name} ${resource.namespaced ? say`needs a namespace` : say`is in no namespace, but says ${metadata.namespace}`}`,
    )
  }
  const ours = Object.fromEntries(Object.entries(metadata).filter(([field]) => !serversOwn.has(field)))
  return { ...intent, metadata: { ...ours, name: metadata.name } }
}

function requestOf({ fieldManager, force = true, signal }: ApplyAs): {
  fieldManager: string
  force: boolean
  signal?: AbortSignal
} {
  return { fieldManager, force, ...(signal ? { signal } : {}) }
}
