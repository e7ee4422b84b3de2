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
  /** The name of both webhook configurations. */
  webhookConfiguration: 'regent',
  /** The port's name in a pod's container. */
  portName: 'api',
  port: 9500,
  podSelector: 'app.kubernetes.io/name=regent,app.kubernetes.io/component=manager',
  /** Its holder begins with the leading pod's name and `_`. */
  lease: 'regent-manager',
  /** The lease's annotation: its holder, and where that holder serves orchestrator's interface. */
  addressAnnotation: 'regent.dev/orchestrator',
  tokenSecret: 'regent-api',
  tokenKey: 'token',
  /** With the key of the managers' authority: theirs alone. */
  certificateSecret: 'regent-certificates',
  /** The authority for everybody else. */
  authorityConfigMap: 'regent-ca',
  caKey: 'ca.crt',
} as const
