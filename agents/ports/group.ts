/** What a joiner needs before it can start (manual, "Configuring an Instance for Group Replication"). */
export interface GroupSettings {
  /** `group_replication_group_name`. */
  readonly name: string
  /** `host:port` of the others. */
  readonly seeds: readonly string[]
  /** `group_replication_consistency`. */
  readonly consistency: string
}

/** What the agent can do to its mysqld as a member of a replication group. Rejects as `ServerPort` does. */
export interface GroupPort {
  /** `VIEW_ID` of this member: another one whenever somebody came or went. '' outside of a group. */
  viewId(): Promise<string>
  /** Has the group agree on a message of this member that says nothing. Rejects past a short deadline. */
  agree(): Promise<void>
  /** Joins the group, or forms it. Resolves once this server is in a view. Rejects with the plugin's own words. */
  start(settings: GroupSettings, forms: boolean): Promise<void>
  /** Leaves the group. What was received is applied first. No-op outside of a group. Rejects past the deadline. */
  stop(deadlineMs?: number): Promise<void>
  /**
   * Has the group make another member primary. Transactions that run get `graceMs`, then their sessions are ended.
   * Rejects past the deadline, and where the group refuses: then the primary stays.
   */
  electPrimary(uuid: string, limits: { readonly graceMs: number; readonly deadlineMs: number }): Promise<void>
  /**
   * Has the group go on with this server as its only primary. Rejects past the deadline, and where the group refuses:
   * each member must be online.
   */
  leadAlone(uuid: string, deadlineMs: number): Promise<void>
  /**
   * Forgets that a person had the group change its mode, so that the next start of this server does not begin with that
   * mode.
   */
  forgetMode(): Promise<void>
  /** Takes effect in sessions that begin from now on. */
  setConsistency(consistency: string): Promise<void>
  /** The first version that speaks what this group speaks. Rejects where this server is no member with a majority. */
  protocol(): Promise<string>
  /** Has the group speak another protocol. Rejects past the deadline, and where the group refuses. */
  setProtocol(version: string, deadlineMs: number): Promise<void>
  /** Has the group agree once more on the configuration that it has. Rejects where this server is no member. */
  repeatConfiguration(): Promise<void>
  /**
   * Makes the account by which members log in here what it is to be. In the binary log at the primary of a group alone,
   * which gives it to all members; else only this server has it.
   */
  setAccount(inBinlog: boolean): Promise<void>
  /** Applies what an earlier life of this server received and did not apply. Outside of a group alone. */
  applyReceived(): Promise<void>
}
