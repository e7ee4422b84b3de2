/**
 * Where a manager on Kubernetes is found: names that the chart gives, and that commands rely on. All are in the
 * manager's namespace.
 */
export const manager = {
  /** Its default. */
  namespace: 'regent',
  /** The API's address in the cluster, and with `.<namespace>.svc` the name in its certificate. */
  service: 'regent',
  webhookService: 'regent-webhook',
  /** Of both webhook configurations. */
  webhookConfiguration: 'regent',
  /** Of a pod's container. */
  portName: 'api',
  port: 9500,
  podSelector: 'app.kubernetes.io/name=regent,app.kubernetes.io/component=manager',
  /** Its holder begins with the leading pod's name and `_`. */
  lease: 'regent-manager',
  /** Of the lease: its holder, and where that one serves orchestrator's interface. */
  addressAnnotation: 'regent.dev/orchestrator',
  tokenSecret: 'regent-api',
  tokenKey: 'token',
  /** With the key of the managers' authority: theirs alone. */
  certificateSecret: 'regent-certificates',
  /** The authority for everybody else. */
  authorityConfigMap: 'regent-ca',
  caKey: 'ca.crt',
} as const
