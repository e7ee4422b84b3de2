import { described, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Logger } from '#common/log/logger.ts'
import type { Timers } from '#common/ports/ports.ts'

interface Given {
  readonly timers: Timers
  readonly log: Logger
  /** Answers in place of the agent until then, and refuses by this; resolves to what ends that. */
  readonly refuse: (why: () => RegentError) => Promise<() => Promise<void>>
}

const againMs = 1_000

/**
 * Resolves to what the far side answered first, or was found of it. An agent that knows nothing of its server has
 * nothing to say until then.
 */
export async function untilReached<T>(reach: () => Promise<T>, { timers, log, refuse }: Given): Promise<T> {
  let endRefusing: (() => Promise<void>) | undefined
  let last = new RegentError('REGENT_SSH_DOWN', say``)
  for (;;) {
    try {
      const answer = await reach()
      await endRefusing?.()
      return answer
    } catch (error) {
      const why = error instanceof RegentError ? error : new RegentError('REGENT_SSH_DOWN', say`${described(error)}`)
      if (why.message !== last.message) log.error(`the agent waits until it can begin: ${why.message}`)
      last = why
      endRefusing ??= await refuse(() => last)
    }
    await timers.sleep(againMs)
  }
}
