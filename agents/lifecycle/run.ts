import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { readTokenFile } from '#common/http/bearer-token.ts'
import { createLogger, type Logger } from '#common/log/logger.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { aborted, toldToStop } from '#common/process/signals.ts'
import { ActionDesk } from './actions/desk.ts'
import { HttpCaller } from './actions/http-action.ts'
import { Pipes } from './actions/pipes.ts'
import { ProcessGroups } from './actions/process-groups.ts'
import { ActionRunner } from './actions/runner.ts'
import type { BuiltInAction } from './built-in/built-in-action.ts'
import { mergeBuiltIn, registryOf } from './built-in/registry.ts'
import { readConfiguration, type Environment, type LifecycleConfiguration } from './configuration/configuration.ts'
import type { LifecycleOptions } from './options.ts'
import { probeService, tellerOf } from './probing.ts'
import { createLifecycleServer } from './server/create-server.ts'
import { listenOnPort, listenOnSocket } from './server/listen.ts'
import { startInOrder, type End, type Service } from './services.ts'
import { createStreamingServer } from './streaming/streaming-server.ts'
import { warnings, withoutPipes } from './warnings.ts'

/**
 * Runs a lifecycle agent until SIGTERM or SIGINT. Services start one after the other, and end in the opposite order:
 * running calls get `drainMs`, then their process groups are killed. Throws `REGENT_BAD_ENVIRONMENT`,
 * `REGENT_BAD_FILE`, `REGENT_BAD_REQUEST` and `REGENT_ADDRESS_IN_USE`.
 */
export async function runLifecycleAgent(options: LifecycleOptions, environment: Environment): Promise<void> {
  const told = toldToStop()
  const log = createLogger({ level: options.logLevel, name: 'lifecycle agent' })
  const end = await startLifecycle(options, { environment, log, builtIn: [] })
  await aborted(told)
  log.info('the lifecycle agent stops')
  await end()
}

/** Where a lifecycle agent runs, and what it can do by itself. */
export interface Surroundings {
  readonly environment: Environment
  readonly log: Logger
  readonly builtIn: readonly BuiltInAction[]
}

/**
 * Starts the services of a lifecycle agent, and gives what ends them: running calls get `drainMs`, then what runs is
 * killed. Throws as `runLifecycleAgent`.
 */
export async function startLifecycle(
  options: LifecycleOptions,
  { environment, log, builtIn }: Surroundings,
): Promise<End> {
  const { port, streamingPort, tokenFile } = options
  const names = namesOf(options)
  if (port === streamingPort && port !== 0)
    throw new RegentError(
      'REGENT_BAD_REQUEST',
      say`${names.port} and ${names.streamingPort} are both ${port}; each needs its own`,
    )
  const registry = registryOf(builtIn)
  const configuration = readConfiguration(environment, registry)
  const token = tokenFile === undefined ? undefined : await readTokenFile(tokenFile)
  for (const warning of warnings(configuration, process.pid)) log.warn(warning)
  const kill = new AbortController()
  const parts = { options, environment, log, token, kill: kill.signal, registry }
  const end = await startInOrder(servicesOf(configuration, parts))
  return async () => {
    const drained = realWorld.timers.after(options.drainMs, () => kill.abort(new Error('the agent is stopping')))
    await end()
    drained.cancel()
  }
}

function namesOf({ portNames }: LifecycleOptions): NonNullable<LifecycleOptions['portNames']> {
  return portNames ?? { port: '--port', streamingPort: '--streaming-port' }
}

interface Parts {
  readonly registry: ReadonlyMap<string, BuiltInAction>
  readonly options: LifecycleOptions
  readonly environment: Environment
  readonly log: Logger
  readonly token: string | undefined
  /** Aborted when what still runs has to end. */
  readonly kill: AbortSignal
}

function servicesOf(configuration: LifecycleConfiguration, parts: Parts): readonly Service[] {
  const { probes } = configuration
  const { environment, log, options, kill, registry } = parts
  const { actions, builtIn } = mergeBuiltIn(configuration.actions, registry)
  // First: what throws here must not leave pipes open, since a start that failed is tried again without an end.
  const teller = tellerOf(environment, { world: realWorld, log, isNeeded: probes.length > 0 })
  const [http, groups] = [new HttpCaller(), groupsOf(configuration.actions, log)]
  const runner = new ActionRunner({
    world: realWorld,
    environment,
    groups,
    http,
    builtIn,
    outputBytes: options.maxOutputBytes,
    signal: kill,
  })
  if (actions === null) return [httpService(undefined, parts)]
  const { maxConcurrency: maxRuns } = options
  const desk = new ActionDesk({
    actions,
    clock: realWorld.clock,
    maxRuns,
    check: (...call) => runner.check(...call),
    run: (...call) => runner.run(...call),
  })
  return [
    runningService(runner, http, groups),
    httpService(desk, parts),
    ...(configuration.streaming.size > 0 || streams(builtIn)
      ? [streamingService(configuration, { groups, builtIn }, parts)]
      : []),
    probeService(probes, { actions, runner, world: realWorld, log, teller }),
  ]
}

/** Without actions of the environment nothing is ever started. */
function groupsOf(actions: LifecycleConfiguration['actions'], log: Logger): ProcessGroups {
  const isNeeded = actions !== null && actions.size > 0
  const pipes = isNeeded ? Pipes.open() : undefined
  if (pipes === undefined && isNeeded) log.warn(withoutPipes)
  return new ProcessGroups(pipes)
}

/** Actions run to their end, or until they are killed. */
function runningService(runner: ActionRunner, http: HttpCaller, groups: ProcessGroups): Service {
  return {
    start: async () => async () => {
      await runner.ended()
      await http.close()
      groups.close()
    },
  }
}

/** After a kill the last answers are sent. A caller that does not read them is not waited for. */
const lastAnswersMs = 1_000

function httpService(desk: ActionDesk | undefined, { options, log, token, kill }: Parts): Service {
  const { address: host, port, unixSocket, maxConcurrency, apiLogging: logsCalls } = options
  return {
    async start() {
      const call = desk && desk.call.bind(desk)
      const server = await createLifecycleServer({ call, token, maxConcurrency, logsCalls, log })
      const at =
        unixSocket === undefined
          ? `${host}:${await listenOnPort(server.server, { host, port, option: namesOf(options).port })}`
          : await listenOnSocket(server.server, unixSocket)
      log.info({ address: at, open: token === undefined }, 'HTTP listens')
      return async () => {
        const cut = (): unknown => realWorld.timers.after(lastAnswersMs, () => server.server.closeAllConnections())
        kill.addEventListener('abort', cut, { once: true })
        await server.close()
      }
    },
  }
}

/** Whether any built-in action is a stream. */
function streams(builtIn: ReadonlyMap<string, BuiltInAction>): boolean {
  return [...builtIn.values()].some(({ stream }) => stream !== undefined)
}

interface Doers {
  readonly groups: ProcessGroups
  readonly builtIn: ReadonlyMap<string, BuiltInAction>
}

/** Listens only where something may be streamed. */
function streamingService(
  { actions, streaming }: LifecycleConfiguration,
  { groups, builtIn }: Doers,
  { options, environment, token, kill, log }: Parts,
): Service {
  const { address: host, streamingPort: port } = options
  return {
    async start() {
      const streamed = [...builtIn.values()].flatMap(({ name, stream }) => (stream === undefined ? [] : [name]))
      const streams = createStreamingServer({
        actions: actions ?? new Map(),
        streaming,
        builtIn,
        environment,
        world: { groups, timers: realWorld.timers },
        token,
        signal: kill,
        log,
      })
      const at = `${host}:${await listenOnPort(streams.server, { host, port, option: namesOf(options).streamingPort })}`
      log.info({ address: at, actions: [...streaming, ...streamed] }, 'streaming listens')
      return () => streams.end()
    },
  }
}
