import type { AgentFeed } from '#manager/loop/agent-feed.ts'

export interface WatchedTrust {
  /** The feed that was given, listened in on. */
  readonly feed: AgentFeed
  /** Agents that are there, while they and this manager do not trust each other: why, by address. */
  readonly distrust: ReadonlyMap<string, string>
}

/**
 * Keeps apart who is silent and who is there and refuses: the first is perhaps dead, the second only has other
 * certificates.
 */
export function watchTrust(feed: AgentFeed, changed: () => void): WatchedTrust {
  const distrust = new Map<string, string>()
  const is = (address: string, why: string | undefined): void => {
    if (distrust.get(address) === why) return
    if (why === undefined) distrust.delete(address)
    else distrust.set(address, why)
    changed()
  }
  return {
    distrust,
    feed: {
      follow(address, whom, listener) {
        const unfollow = feed.follow(address, whom, {
          ...listener,
          heard: (observation) => (is(address, undefined), listener.heard(observation)),
          alive: () => (is(address, undefined), listener.alive()),
          lost: (why, isDistrusted = false) => (is(address, isDistrusted ? why : undefined), listener.lost(why)),
        })
        return () => {
          is(address, undefined)
          unfollow()
        }
      },
    },
  }
}
