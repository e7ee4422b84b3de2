import { mkdir, readFile } from 'node:fs/promises'
import type { Server } from 'node:http'
import { join } from 'node:path'
import { hostPort } from '#common/text/host-port.ts'
import { passwordFor } from '#common/mysql/account-password.ts'
import { readTokenFile } from '#common/http/bearer-token.ts'
import { described, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { followCertificateFolder } from '#common/tls/certificate-folder.ts'
import { createHttpTransport } from '#common/http/http-transport.ts'
import { createLogger, type Logger } from '#common/log/logger.ts'
import { realDisk, realWorld } from '#common/ports/real-world.ts'
import type { World } from '#common/ports/ports.ts'
import { toldToStop } from '#common/process/signals.ts'
import { ownTlsName } from '#common/tls/tls-names.ts'
import { contradictionIn, defaultTimings, type Timings } from '#failover/protocol/timings.ts'
import { Agent } from './agent.ts'
import { realBackupPort } from './backup/real-backup-port.ts'
import type { CertificateFolders } from './guard/client-certificate.ts'
import type { AgentConfig } from './instance/config.ts'
import { groupUser } from './instance/accounts.ts'
import type { ExpulsionPort } from './ports/expulsion.ts'
import { createAgentServer, createProbeServer } from './http.ts'
import { serveLifecycle } from './serve-lifecycle.ts'
import { Launcher } from './mysqld/launcher.ts'
import { addressOf, placeOf } from './place.ts'
import { replicationUser } from './ports/server.ts'
import { throwAwayServers } from './throw-away/throw-away.ts'
import { OneLife } from './instance/one-life.ts'
import { volumeLayout } from './instance/volume-layout.ts'
import { lockVolume } from './instance/volume-lock.ts'

interface RunOptions {
  /** Aborted when the agent is to end. */
  readonly stop?: AbortSignal
  readonly world?: World
  readonly placeFor?: typeof placeOf
}

/**
 * Runs the agent of one instance until SIGTERM or SIGINT. Its mysqld goes on without it and is found again by the next.
 * Throws `REGENT_BAD_FILE` for a configuration that contradicts itself, `REGENT_ALREADY_RUNNING` where another agent
 * has the volume, `REGENT_BAD_CERTIFICATE` and `REGENT_ADDRESS_IN_USE`; `REGENT_REBOOTED` where its far host was.
 * Nothing of a far agent goes on after that, and the next one may begin in the same process; where something does, it
 * rejects with an `UnendedLife`.
 */
export async function runAgent(
  config: AgentConfig,
  { stop = toldToStop(), world = realWorld, placeFor = placeOf }: RunOptions = {},
): Promise<void> {
  const timings = { ...defaultTimings, ...config.timings }
  requireTimings(timings)
  const { agentDir, lockFile } = volumeLayout(config.volume)
  await mkdir(agentDir, { recursive: true, mode: 0o700 })
  const unlock = await lockVolume(lockFile, config.instance)
  const life = new OneLife()
  try {
    await live(config, { timings, life, stop, world, placeFor })
  } finally {
    // Others end with their process: nobody waits for what is under way there.
    if (config.far !== undefined) {
      await life.end(world.timers)
      unlock()
    }
  }
}

/** What is begun here ends here, the newest first, however far that came. */
async function live(
  config: AgentConfig,
  {
    timings,
    life,
    stop,
    world,
    placeFor,
  }: Required<RunOptions> & { readonly timings: Timings; readonly life: OneLife },
): Promise<void> {
  await using ends = new AsyncDisposableStack()
  const log = createLogger({ level: config.logLevel, name: `agent ${config.instance}` })
  const token = await readTokenFile(config.tokenFile)
  const secret = await readAccountSecret(config.accountSecretFile)
  const layout = volumeLayout(config.volume)
  await mkdir(layout.runDir, { recursive: true, mode: 0o700 })
  const launcher = config.launcherDir === '' ? null : new Launcher(config.launcherDir, world)
  const { certificates, transport } = await connectionsOf(config, { token, world, log })
  ends.defer(() => certificates?.close())
  ends.defer(() => transport.close())
  const listenAsAgent = (server: Server): Promise<void> => listen(server, config, 'agentPort')
  const anew = Promise.withResolvers<never>()
  // The rejection may come before anybody waits for it.
  anew.promise.catch(() => undefined)
  const place = await placeFor(config, {
    ...{ world, secret, timings, log, token, listen: listenAsAgent, life },
    beginAnew: anew.reject,
  })
  ends.defer(() => place.close())
  const agent = await Agent.create({
    config,
    timings,
    world,
    transport,
    disk: life.port(realDisk),
    stateFile: layout.stateFile,
    replicationPassword: passwordFor(secret, replicationUser(config.instance)),
    ...place.ports,
    ...(config.mode === 'group' ? { expulsion: await expulsionOf(secret, world) } : {}),
    log: (sentence) => log.info(sentence),
    certificateFolders: certificateFoldersOf(config),
    termination: launcher,
    backups: config.far ? null : realBackupPort(secret, throwAwayServers(config, world)),
  })
  ends.defer(() => agent.stop())
  const own = createAgentServer(agent, { token, certificates, whyBlind: place.whyBlind })
  ends.defer(() => ended(own))
  await listenAsAgent(own)
  if (config.probePort !== 0) {
    const probes = createProbeServer(agent)
    ends.defer(() => ended(probes))
    await listen(probes, config, 'probePort')
  }
  ends.defer(place.serve(own))
  log.info({ address: hostPort(addressOf(config), config.agentPort) }, 'agent listens')
  const beating = launcher?.beat()
  ends.defer(() => beating?.cancel())
  ends.defer(serveLifecycle(config, { builtIn: () => agent.builtInActions(), world, log }))
  await agent.start()
  await Promise.race([untilTold(stop, ends), anew.promise])
  log.info('agent stops; mysqld goes on')
}

/** Nobody is answered any more, and its address is free. */
function ended(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

function untilTold(stop: AbortSignal, ends: AsyncDisposableStack): Promise<void> {
  return new Promise((resolve) => {
    const told = (): void => resolve()
    if (stop.aborted) told()
    stop.addEventListener('abort', told)
    ends.defer(() => stop.removeEventListener('abort', told))
  })
}

/** How the agent calls others, and by which certificates the agent is known. */
async function connectionsOf(
  { tls }: AgentConfig,
  { token, world, log }: { token: string; world: World; log: Logger },
) {
  const certificates =
    tls && (await followCertificateFolder({ folder: tls.certificateFolder, world, log, checksPeers: true }))
  const known = certificates && { certificates, servername: ownTlsName(certificates.current()) }
  return { certificates, transport: createHttpTransport({ token, tls: known }) }
}

/**
 * Members speak TLS with each other, with certificates that each mysqld made for itself. Loaded in mode `group` alone:
 * other agents need not keep it in memory.
 */
async function expulsionOf(secret: string, world: World): Promise<ExpulsionPort> {
  const { expulsionThrough } = await import('./group/expulsion.ts')
  const password = passwordFor(secret, groupUser)
  const stack = { kind: 'mysql', user: groupUser, password, tls: { ca: '', name: null } } as const
  return expulsionThrough(stack, world)
}

function requireTimings(timings: Timings): void {
  const contradiction = contradictionIn(timings)
  if (contradiction) throw new RegentError('REGENT_BAD_FILE', say`timings: ${contradiction}`)
}

async function readAccountSecret(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new RegentError(
      'REGENT_SECRET_LOST',
      say`the secret of all passwords, ${path}, cannot be read: ${described(error)}`,
      { cause: error },
    )
  })
  if (text.trim() === '')
    throw new RegentError('REGENT_SECRET_LOST', say`the secret of all passwords, ${path}, is empty`)
  return text.trim()
}

/** Where a launcher starts mysqld, the copies are gone with the pod: no volume keeps a key that is not its own. */
function certificateFoldersOf({ clientTls, launcherDir, volume }: AgentConfig): CertificateFolders | null {
  const given = clientTls?.certificateFolder
  return given === undefined
    ? null
    : { given, shown: join(launcherDir || volumeLayout(volume).runDir, 'client-certificates') }
}

function listen(server: Server, config: AgentConfig, port: 'agentPort' | 'probePort'): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(
        error.code === 'EADDRINUSE'
          ? new RegentError(
              'REGENT_ADDRESS_IN_USE',
              say`${hostPort(addressOf(config), config[port])} (${port}) is taken: another agent runs there`,
              { cause: error },
            )
          : error,
      )
    })
    server.listen(config[port], addressOf(config), () => resolve())
  })
}
