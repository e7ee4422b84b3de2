/**
 * Labels and annotations of the event pipeline. Names of `kubeblocks.io` belong to the wire format of KubeBlocks'
 * agent: Services select by the label, and a manager of either project reads what the other project's manager wrote.
 */

export const roleLabel = 'kubeblocks.io/role'
/** The label of a pod without an owner reference: the InstanceSet that made the pod. */
export const instanceSetLabel = 'workloads.kubeblocks.io/instance'

export const marks = {
  /** An Event's mark: the count up to which the Event is handled. */
  handled: 'kubeblocks.io/event-handled',
  /** An Event's mark about a role, as managers before 1.1 read it: `count-<n>`. */
  roleHandled: 'role.kubeblocks.io/event-handled',
  /** A pod's mark: when its role was last told, or taken by a peer, in µs since 1970, or the term of a snapshot. */
  snapshotVersion: 'apps.kubeblocks.io/last-role-snapshot-version',
  /** A pod's mark: the version that came with its role. */
  authoritativeVersion: 'apps.kubeblocks.io/last-role-authoritative-version',
  /** A pod's mark: the exclusive role that a peer took from it, the peer's version of then, and the pod's own. */
  lostRole: 'regent.dev/lost-role',
  /** An owner's mark: how far each of its replicas is. */
  replicasStatus: 'apps.kubeblocks.io/replicas-status',
  /** An owner's mark, by a person: the roles its pods may have, as JSON. */
  roles: 'regent.dev/roles',
  /** An owner's mark, by a person: when the component counts as available, as JSON. */
  availability: 'regent.dev/availability',
  /** An owner's mark: condition `Available`, as JSON. */
  available: 'regent.dev/available',
} as const
