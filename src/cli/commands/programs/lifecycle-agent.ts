import { flushCompileCache } from 'node:module'
import { resolve } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { Option, type Command } from 'commander'
import { lifecycleDefaults } from '#agents/lifecycle/options.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { logLevels } from '#common/log/log-levels.ts'
import { addressArgument, durationFrom, integerFrom, oneOf, pathArgument } from '#cli/terminal/arguments.ts'
import type { Io } from '#cli/terminal/io.ts'

interface Flags {
  readonly server: 'true' | 'false'
  readonly address: string
  readonly port: number
  readonly streamingPort: number
  readonly unixSocket?: string
  readonly tokenFile?: string
  readonly open?: true
  readonly maxConcurrency: number
  readonly maxOutput: number
  readonly drain: number
  readonly apiLogging: 'true' | 'false'
  readonly logLevel: string
  readonly dataDir?: string
}

const mebibyte = 1024 * 1024

export function addLifecycleAgent(program: Command, io: Io): void {
  program
    .command('lifecycle-agent')
    .description(
      'Run a lifecycle agent, which speaks as KubeBlocks’ kbagent does: actions over HTTP, probes, Events. ' +
        'KB_AGENT_ACTION and its like say what the agent serves: docs/guide/lifecycle-agent.md. Ends in order on ' +
        'SIGTERM.',
    )
    .addOption(
      new Option(
        '--server <yes>',
        'true serves until SIGTERM; false does the tasks of KB_AGENT_TASK and ends, as an init container',
      )
        .argParser(oneOf('true', 'false'))
        .default('true'),
    )
    .addOption(
      new Option('--address <address>', 'address that both ports are on').argParser(addressArgument).default('0.0.0.0'),
    )
    .addOption(
      new Option('--port <port>', 'port of HTTP').argParser(integerFrom(0, 65_535)).default(lifecycleDefaults.port),
    )
    .addOption(
      new Option('--streaming-port <port>', 'port that data is streamed on, raw TCP')
        .argParser(integerFrom(0, 65_535))
        .default(lifecycleDefaults.streamingPort),
    )
    .addOption(
      new Option(
        '--unix-socket <folder>',
        'folder in which HTTP listens on kbagent.socket, instead of on --port',
      ).argParser(pathArgument),
    )
    .addOption(
      new Option('--token-file <file>', 'file with the bearer token that every caller must send').argParser(
        pathArgument,
      ),
    )
    .addOption(
      new Option(
        '--open',
        'ask no token of anybody, for callers made for KubeBlocks, which send none: whoever reaches the ports may run every action',
      ),
    )
    .addOption(
      new Option(
        '--max-concurrency <calls>',
        'calls at a time, more are answered with 503; besides so many runs of non-blocking calls',
      )
        .argParser(integerFrom(1, 4_096))
        .default(lifecycleDefaults.maxConcurrency),
    )
    .addOption(
      new Option(
        '--max-output <MiB>',
        'mebibytes of output that one call may give; an action that writes more is killed',
      )
        .argParser(integerFrom(1, 1_024))
        .default(lifecycleDefaults.maxOutputBytes / mebibyte),
    )
    .addOption(
      new Option('--drain <duration>', 'how long running calls may go on after SIGTERM; what still runs is then killed')
        .argParser(durationFrom(0, 3_600_000))
        .default(lifecycleDefaults.drainMs, '10s'),
    )
    .addOption(
      new Option('--api-logging <yes>', 'whether every call is a line of the log: true or false')
        .argParser(oneOf('true', 'false'))
        .default('true'),
    )
    .addOption(
      new Option(
        '--data-dir <folder>',
        'with --server=false: empty folder that a copy of a MySQL server is loaded into where KB_AGENT_ACTION has no dataLoad; or variable REGENT_DATA_DIR',
      ).argParser(pathArgument),
    )
    .addOption(
      new Option('--log-level <level>', `how much is logged: ${logLevels.join(', ')}`)
        .argParser(oneOf(...logLevels))
        .default('info'),
    )
    .action(async (flags: Flags) => {
      const { startUnderInit } = await import('#agents/lifecycle/under-init.ts')
      startUnderInit()
      const isServer = flags.server === 'true'
      if (isServer) requireServing(flags)
      // As in an agent beside a server: memory matters more than speed.
      setFlagsFromString('--optimize-for-size')
      await (isServer ? serve(flags, io) : work(flags, io))
      // What is still open must not keep an ended agent alive.
      process.exit(0)
    })
}

function requireServing({ tokenFile, open, dataDir }: Flags): void {
  if (dataDir !== undefined)
    throw new RegentError('REGENT_BAD_REQUEST', say`--data-dir is for a worker: give --server=false, or leave it out`)
  if (tokenFile === undefined && open !== true)
    throw new RegentError(
      'REGENT_BAD_REQUEST',
      say`who may call is not said; give --token-file, or --open where callers made for KubeBlocks send no token`,
    )
  if (tokenFile !== undefined && open === true)
    throw new RegentError(
      'REGENT_BAD_REQUEST',
      say`--token-file asks for a token and --open for none; give one of them`,
    )
}

async function serve(flags: Flags, { env }: Io): Promise<void> {
  const { runLifecycleAgent } = await import('#agents/lifecycle/run.ts')
  flushCompileCache()
  const options = {
    ...flags,
    unixSocket: flags.unixSocket && resolve(flags.unixSocket),
    tokenFile: flags.tokenFile && resolve(flags.tokenFile),
    maxOutputBytes: flags.maxOutput * mebibyte,
    drainMs: flags.drain,
    apiLogging: flags.apiLogging === 'true',
  }
  await runLifecycleAgent(options, env)
}

async function work(flags: Flags, { env }: Io): Promise<void> {
  const { tokenFile, logLevel, dataDir = env['REGENT_DATA_DIR'] } = flags
  const { runLifecycleWorker } = await import('#agents/lifecycle/run-worker.ts')
  flushCompileCache()
  await runLifecycleWorker(
    { tokenFile: tokenFile && resolve(tokenFile), logLevel, dataDir: dataDir ? resolve(dataDir) : undefined },
    env,
  )
}
