import { RegentError } from '../../src/common/errors/errors.ts'
import { readTokenFile } from '../../src/common/http/bearer-token.ts'
import { createLogger, type Logger } from '../../src/common/log/logger.ts'
import { realWorld } from '../../src/common/ports/real-world.ts'
import { aborted, toldToStop } from '../../src/common/process/signals.ts'
import { ActionDesk } from './actions/desk.ts'
import { HttpCaller } from './actions/http-action.ts'
import { ProcessGroups } from './actions/process-groups.ts'
import { ActionRunner } from './actions/runner.ts'
import { readConfiguration, type Environment, type LifecycleConfiguration } from './configuration/configuration.ts'
import type { LifecycleOptions } from './options.ts'
import { createLifecycleServer } from './server/create-server.ts'
import { listenOnPort, listenOnSocket } from './server/listen.ts'

/**
 * Runs a lifecycle agent until SIGTERM or SIGINT. Services start one after the other, and end in the opposite order:
 * running calls get `drainMs`, then their process groups are killed. Throws `REGENT_BAD_ENVIRONMENT`,
 * `REGENT_BAD_FILE`, `REGENT_BAD_REQUEST` and `REGENT_ADDRESS_IN_USE`.
 */
export async function runLifecycleAgent(options: LifecycleOptions, environment: Environment): Promise<void> {
  if (options.port === options.streamingPort && options.port !== 0)
    throw new RegentError(
      'REGENT_BAD_REQUEST',
      `--port and --streaming-port are both ${options.port}; each needs a port of its own`,
    )
  const log = createLogger({ level: options.logLevel, name: 'lifecycle agent' })
  const configuration = readConfiguration(environment)
  const token = options.tokenFile === undefined ? undefined : await readTokenFile(options.tokenFile)
  const kill = new AbortController()
  const parts = { options, environment, log, token }
  const end = await startServices(configuration, parts, kill)
  await aborted(toldToStop())
  log.info('the lifecycle agent stops')
  await end()
}

interface Parts {
  readonly options: LifecycleOptions
  readonly environment: Environment
  readonly log: Logger
  readonly token: string | undefined
}

async function startServices(
  { actions }: LifecycleConfiguration,
  { options, environment, log, token }: Parts,
  kill: AbortController,
): Promise<() => Promise<void>> {
  const groups = new ProcessGroups()
  const http = new HttpCaller()
  const runner = new ActionRunner({
    world: realWorld,
    environment,
    groups,
    http,
    outputBytes: options.maxOutputBytes,
    signal: kill.signal,
  })
  const desk = actions && new ActionDesk({ actions, clock: realWorld.clock, run: (...call) => runner.run(...call) })
  const { maxConcurrency, apiLogging: logsCalls } = options
  const server = await createLifecycleServer({
    call: desk === null ? undefined : (request) => desk.call(request),
    token,
    maxConcurrency,
    logsCalls,
    log,
  })
  const { address: host, port, unixSocket } = options
  const at =
    unixSocket === undefined
      ? `${host}:${await listenOnPort(server.server, { host, port, option: '--port' })}`
      : await listenOnSocket(server.server, unixSocket)
  log.info({ address: at, actions: [...(actions?.keys() ?? [])] }, 'lifecycle agent listens')
  return async () => {
    const drained = realWorld.timers.after(options.drainMs, () => kill.abort(new Error('the agent is stopping')))
    await server.close()
    await runner.ended()
    drained.cancel()
    kill.abort(new Error('the agent is stopping'))
    await http.close()
  }
}
