/** What a probe found out, told in an Event whose reason is the probe's action. */
export interface ProbeEvent {
  /** Full name of the component. */
  readonly instance: string
  readonly probe: string
  /** 0, or −1 for a failure. */
  readonly code: 0 | -1
  /** What the action wrote; of a failure what the last success wrote. Empty is nothing. */
  readonly output: Buffer
  /** Why the action failed; '' for a success. */
  readonly message: string
}

/** How a task stands, told in an Event whose reason is `task`. */
export interface TaskEvent {
  readonly instance: string
  readonly task: string
  readonly UID: string
  /** The pod that the task was for. */
  readonly replica: string
  /** Milliseconds since 1970 UTC; null where that moment has not come. */
  readonly startMs: number | null
  readonly endMs: number | null
  readonly code: 0 | -1
  readonly output: Buffer
  readonly message: string
}

/** The reason of Events about tasks. */
export const taskReason = 'task'
