import type { Observation } from '#topology/snapshot/observation.ts'

/** Whom a manager expects at an address. */
export interface AgentIdentity {
  readonly cluster: string
  readonly instance: string
}

export interface FeedListener {
  readonly heard: (observation: Observation) => void
  /** A heartbeat: the agent is there and has nothing new to say. */
  readonly alive: () => void
  /**
   * @param isDistrusted it is there and refuses this manager, or this manager refuses it: by certificate or by token
   */
  readonly lost: (why: string, isDistrusted?: boolean) => void
  /** Before `lost`, where the agent is there and knows nothing of its server: its words. */
  readonly blind?: (why: string) => void
  /** Before `lost`, where nobody answered at all, not even with a refusal: no machine is there, or none is reached. */
  readonly unreached?: () => void
  /** Before `lost`, where the agent of another instance or cluster answers there: both names. */
  readonly strange?: (error: Error) => void
}

/** The stream of one agent's observations. */
export interface AgentFeed {
  /**
   * Opens the stream of the agent of `whom` at `address` and keeps opening it again whenever it ends, until the
   * returned function is called. `heard` gets every observation of `whom`, and none of anybody else who answers there;
   * `lost` is called when a stream ends or falls silent.
   */
  follow(address: string, whom: AgentIdentity, listener: FeedListener): () => void
}
