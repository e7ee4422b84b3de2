/** How instances are reached and shown to clients: what the manager needs of the place where a cluster runs. */
export interface Platform {
  /** Instances that exist now, with their addresses; calls `changed` again whenever that changes. */
  instances(): Promise<readonly PlatformInstance[]>
  onChange(changed: () => void): void
  /**
   * Swaps the address of the primary in a single write (safety rule 7). Idempotent; a call with an older epoch than the
   * one published is refused by returning false.
   */
  publishPrimary(route: PrimaryRoute): Promise<boolean>
  /** What is published now; undefined before the first time. */
  publishedPrimary(): Promise<PrimaryRoute | undefined>
  /**
   * Makes this many instances exist (`<cluster>-0` … `<cluster>-(count-1)`). Leavers must have left the record before.
   */
  scaleTo(count: number): Promise<void>
  /**
   * Writes how many instances are wanted to where people say so, where such a place is; else that is noted beside the
   * record.
   */
  wish?(count: number): Promise<void>
  /**
   * Gives up an instance's volume for good, and makes the instance again with an empty one, wherever there is room.
   * `isSilent`: nothing waits for its machine, which may be gone. Absent where nobody can do that.
   */
  replace?(instance: string, isSilent: boolean): Promise<void>
}

export interface PlatformInstance {
  readonly name: string
  /** Address that clients and replicas use for MySQL; '' while it has none, as `agent` then: its pod is not there. */
  readonly host: string
  readonly port: number
  /** `host:port` of the agent. */
  readonly agent: string
  /** What the place itself says of an instance that is not there as it should be. Absent for nothing. */
  readonly trouble?: string
  /** The instance is being started, and nothing is known to stand in the way. Absent for no. */
  readonly starting?: true
}

export interface PrimaryRoute {
  readonly epoch: number
  readonly instance: string
  readonly host: string
  readonly port: number
}
