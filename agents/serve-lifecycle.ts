import { describeError } from '#common/errors/errors.ts'
import type { Logger } from '#common/log/logger.ts'
import type { World } from '#common/ports/ports.ts'
import type { AgentConfig, LifecycleConfig } from './instance/config.ts'
import type { BuiltInAction } from './lifecycle/built-in/built-in-action.ts'
import { lifecycleDefaults } from './lifecycle/options.ts'

export interface LifecycleParts {
  readonly builtIn: () => readonly BuiltInAction[]
  readonly world: Pick<World, 'timers'>
  readonly log: Logger
}

const againMs = 10_000

/**
 * Serves lifecycle actions where the configuration says so, and gives what ends the service: calls under way get their
 * time, while the agent still looks after its mysqld. What cannot be served, for want of a token or with a script that
 * is wrong, is told in the log and tried again: an agent that ended for it would leave its mysqld alone.
 */
export function serveLifecycle(config: AgentConfig, parts: LifecycleParts): () => Promise<void> {
  const { lifecycle } = config
  if (lifecycle === undefined) return async () => undefined
  const ending = new AbortController()
  const served = untilServed(config, lifecycle, { ...parts, signal: ending.signal })
  return async () => {
    ending.abort(new Error('the agent is stopping'))
    await (
      await served
    )?.()
  }
}

/** Gives what ends the service; undefined where the agent ends before anything is served. */
async function untilServed(
  config: AgentConfig,
  lifecycle: LifecycleConfig,
  { world, log, signal, ...parts }: LifecycleParts & { readonly signal: AbortSignal },
): Promise<(() => Promise<void>) | undefined> {
  for (let told = ''; !signal.aborted;) {
    try {
      return await start(config, lifecycle, { ...parts, log })
    } catch (error) {
      const why = describeError(error)
      if (why !== told) log.error(`lifecycle actions are not served, which is tried again every 10 s: ${why}`)
      told = why
    }
    await world.timers.sleep(againMs, signal).catch(() => undefined)
  }
  return undefined
}

/** Loaded only here: other agents need not keep an HTTP framework in memory. */
async function start(
  { host, logLevel }: AgentConfig,
  lifecycle: LifecycleConfig,
  { builtIn, log }: Omit<LifecycleParts, 'world'>,
): Promise<() => Promise<void>> {
  const { startLifecycle } = await import('./lifecycle/run.ts')
  const { port, streamingPort } = { ...lifecycleDefaults, ...lifecycle }
  const options = {
    ...lifecycleDefaults,
    address: host,
    port,
    streamingPort,
    unixSocket: undefined,
    tokenFile: lifecycle.tokenFile,
    apiLogging: true,
    logLevel,
    portNames: { port: 'lifecycle.port', streamingPort: 'lifecycle.streamingPort' },
  }
  return startLifecycle(options, { environment: process.env, log, builtIn: builtIn() })
}
