/**
 * What a lifecycle agent is given in its environment: the shapes of KubeBlocks' agent, field by field.
 * `KB_AGENT_ACTION` holds a list of actions, `KB_AGENT_PROBE` of probes, `KB_AGENT_TASK` of tasks.
 */

export interface Action {
  readonly name: string
  readonly exec?: ExecAction
  readonly http?: HttpAction
  readonly grpc?: GrpcAction
  /** A call answers at once, and later calls pick the result up. */
  readonly nonBlocking?: boolean
  /** Seconds. Absent or 0: the default. Negative: no limit. */
  readonly timeoutSeconds?: number
  readonly retryPolicy?: RetryPolicy
}

export interface ExecAction {
  readonly command?: readonly string[]
  readonly args?: readonly string[]
}

export interface HttpAction {
  /** A number; the name of a port is not known here. */
  readonly port: string
  readonly host?: string
  readonly scheme?: string
  readonly path?: string
  readonly method?: string
  readonly body?: string
  readonly headers?: readonly { readonly name: string; readonly value: string }[]
}

export interface GrpcAction {
  /** A number, as of an HTTP action. */
  readonly port: string
  readonly host?: string
  /** Full name, with its package. */
  readonly service: string
  readonly method: string
  /** Texts by the name of a field. */
  readonly request?: Readonly<Record<string, string>>
  /** Names of fields of the answer: what is a failure where not empty, and what is the output. */
  readonly response?: { readonly status?: string; readonly message?: string }
}

export interface RetryPolicy {
  readonly maxRetries?: number
  /** Nanoseconds between two attempts, as Go writes a duration. */
  readonly retryInterval?: number
}

export interface Probe {
  /** Full name of the component: `<cluster>-<component>`. */
  readonly instance: string
  /** Name of the action that the probe runs. */
  readonly action: string
  readonly initialDelaySeconds?: number
  readonly periodSeconds?: number
  readonly successThreshold?: number
  readonly failureThreshold?: number
  readonly reportPeriodSeconds?: number
  /** Files and folders whose change makes the probe run and report at once. */
  readonly reportOnFileChange?: readonly string[]
}

export interface Task {
  /** Full name of the component. */
  readonly instance: string
  /** `newReplica` is the only task there is. */
  readonly task: string
  readonly UID: string
  /** Pods that the task is for, separated by commas. */
  readonly replicas: string
  readonly notifyAtFinish?: boolean
  readonly reportPeriodSeconds?: number
  readonly newReplica?: NewReplica
}

export interface NewReplica {
  /** Address of the streaming server that the data comes from. */
  readonly remote: string
  readonly port: number
  readonly replicas?: string
  readonly parameters?: Readonly<Record<string, string>>
  readonly timeoutSeconds?: number
}
