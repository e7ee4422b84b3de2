import type { Observation } from '../../topology/observation.ts'

export interface FeedListener {
  readonly heard: (observation: Observation) => void
  /** A heartbeat: the agent is there and has nothing new to say. */
  readonly alive: () => void
  /** @param isDistrusted it is there and refuses this manager, or this manager refuses it: by certificate or by token */
  readonly lost: (why: string, isDistrusted?: boolean) => void
}

/** The stream of one agent's observations. */
export interface AgentFeed {
  /**
   * Opens the stream of the agent at `address` and keeps opening it again whenever it ends, until the returned function is called.
   * `heard` gets every observation; `lost` is called when a stream ends or falls silent.
   */
  follow(address: string, listener: FeedListener): () => void
}
