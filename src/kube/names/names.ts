/** What scripts and people rely on: labels, annotations and names of everything a cluster becomes. */

export const group = 'regent.dev'
export const version = 'v1alpha1'
/** The field manager of all that Regent writes. */
export const fieldManager = 'regent'

export const labels = {
  cluster: 'regent.dev/cluster',
  role: 'regent.dev/role',
  /** `open` on pods that Service `<cluster>-replicas` leads to. */
  reads: 'regent.dev/reads',
  managedBy: 'app.kubernetes.io/managed-by',
  name: 'app.kubernetes.io/name',
  instance: 'app.kubernetes.io/instance',
} as const

export const annotations = {
  /** A pod's annotation: the version of what only a restart brings, with which the pod was made. */
  podRevision: 'regent.dev/pod-revision',
  /** The set's annotation: when its controller was last woken by Regent. */
  lookedAt: 'regent.dev/looked-at',
  /** A router pod's annotation: the settings with which the pod was made. */
  routerSettings: 'regent.dev/router-settings',
  /** The epoch, on the primary's EndpointSlice. */
  epoch: 'regent.dev/epoch',
  /**
   * The resource's annotation, by a person: any new value asks for new passwords. The internal Secret's annotation: the
   * value that was taken up last.
   */
  rotatePasswords: 'regent.dev/rotate-passwords',
  /** The internal Secret's annotation: the generation that is being brought about. */
  nextPasswords: 'regent.dev/next-passwords',
  /** The internal Secret's annotation: until when the passwords before are accepted. */
  oldPasswordsUntil: 'regent.dev/old-passwords-until',
} as const

/** The objects of a cluster by what they are for. The bare name of a cluster is its router's Service. */
export function namesOf(cluster: string) {
  return {
    instances: `${cluster}-instances`,
    primary: `${cluster}-primary`,
    replicas: `${cluster}-replicas`,
    client: `${cluster}-client`,
    admin: `${cluster}-admin`,
    /** Tokens and the secret from which passwords of accounts are derived. */
    internal: `${cluster}-internal`,
    /** The configuration that the agents of all pods share. */
    agents: `${cluster}-agents`,
    /** What `src/store/kube-cells.ts` keeps. */
    record: `${cluster}-record`,
    statefulSet: cluster,
    /** What the agents show each other and the managers; mounted into the pods. */
    certificates: `${cluster}-certificates`,
    /** The authority behind them, with its key; never mounted. */
    authority: `${cluster}-ca`,
    disruptionBudget: cluster,
    /** The App that is the router, its Deployment, budget and settings. Its Service has the cluster's bare name. */
    router: `${cluster}-router`,
    routerService: cluster,
    serviceAccount: `${cluster}-agents`,
  } as const
}

/** A longer one would make Service names longer than 63 characters, and names of accounts longer than MySQL's 32. */
export const longestClusterName = 39

/** On every object of a cluster. */
export function commonLabels(cluster: string): Readonly<Record<string, string>> {
  return { [labels.cluster]: cluster, [labels.managedBy]: 'regent', [labels.name]: 'mysql', [labels.instance]: cluster }
}

/** What a selector selects by: less than the labels, since selectors cannot be changed later. */
export function selectorOf(cluster: string): Readonly<Record<string, string>> {
  return { [labels.cluster]: cluster }
}

/** The same as lists and the scale subresource take it. */
export function selectorTextOf(cluster: string): string {
  return `${labels.cluster}=${cluster}`
}
