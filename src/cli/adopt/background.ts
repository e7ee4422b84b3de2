import { spawn } from 'node:child_process'
import { open } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  adoptedFiles,
  adoptedFolder,
  prepareFolder,
  readManager,
  type AdoptedFolder,
  type AdoptedManager,
} from '#adopt/adopted-folder.ts'
import { codeOf, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { frugalNode } from '#common/process/frugal-environment.ts'
import { freeApiPort } from '#local/addresses/addresses.ts'
import { isAlive } from '#common/process/process-stat.ts'
import { endProcess } from '#local/processes/process-identity.ts'
import { underCommandLock } from '#local/supervisor/background.ts'
import { backgroundEnvironment } from '#local/supervisor/child.ts'
import { regentCommand } from '#local/supervisor/regent-command.ts'
import { openWatched } from '../connection/connect.ts'
import type { Io } from '../terminal/io.ts'

const host = '127.0.0.1'
const usualPort = 9_510
const startDeadlineMs = 30_000
/** The manager looks for new files once a second. */
const takenUpMs = 10_000

/**
 * Starts the manager that watches where none runs, in a session of its own, so that it survives the terminal. Throws
 * `REGENT_REFUSED` with what its log says when it does not come up.
 */
export async function startWatching(io: Io, port: number | undefined): Promise<AdoptedManager> {
  const folder = adoptedFolder()
  if ((await adoptedFiles(folder)).size === 0)
    throw new RegentError('REGENT_NOT_FOUND', say`nothing was adopted, so there is nothing to watch`, {
      remedy: 'Adopt a cluster first: regent adopt FILE.',
    })
  await prepareFolder(folder)
  return underCommandLock(
    (words) => io.note(words),
    async () => {
      const before = await readManager(folder)
      if (before !== undefined && isAlive(before)) return requireSame(before, port)
      return start(folder, port ?? before?.port ?? (await freeApiPort(host, usualPort, new Set())))
    },
  )
}

/**
 * As `startWatching`, and waits until the manager has taken up a cluster that was adopted just now: the next command is
 * to find that cluster.
 */
export async function startWatchingAnew(io: Io, cluster: string, port?: number): Promise<AdoptedManager> {
  const manager = await startWatching(io, port)
  const { client, path } = await openWatched(cluster)
  const until = performance.now() + takenUpMs
  while (performance.now() < until) {
    const view = await client.get(path).catch((error: unknown) => codeOf(error))
    if (view !== 'REGENT_NOT_FOUND') break
    await sleep(50)
  }
  return manager
}

/** Throws `REGENT_ALREADY_RUNNING` where the manager that watches listens on another port than is asked for. */
export async function refuseOtherPort(port: number | undefined): Promise<void> {
  const running = await readManager(adoptedFolder())
  if (running !== undefined && isAlive(running)) requireSame(running, port)
}

/** Ends it where it runs. */
export async function stopWatching(): Promise<void> {
  const manager = await readManager(adoptedFolder())
  if (manager !== undefined && isAlive(manager)) await endProcess(manager, 10_000)
}

function requireSame(running: AdoptedManager, port: number | undefined): AdoptedManager {
  if (port === undefined || port === running.port) return running
  throw new RegentError(
    'REGENT_ALREADY_RUNNING',
    say`the manager that watches listens on ${running.host}:${running.port}, not on ${port}: leave --port out`,
  )
}

async function start(folder: AdoptedFolder, port: number): Promise<AdoptedManager> {
  await using output = await open(folder.log, 'a', 0o600)
  const { size } = await output.stat()
  const [program = '', ...rest] = regentCommand(frugalNode)
  const child = spawn(program, [...rest, 'adopt', 'serve', String(port)], {
    ...{ stdio: ['ignore', output.fd, output.fd], detached: true, cwd: folder.dir, env: backgroundEnvironment() },
  })
  child.unref()
  const until = performance.now() + startDeadlineMs
  while (child.exitCode === null && child.signalCode === null && performance.now() < until) {
    const manager = await readManager(folder)
    if (manager?.pid === child.pid && manager !== undefined) return manager
    await sleep(50)
  }
  throw new RegentError(
    'REGENT_REFUSED',
    say`the manager that watches did not come up: ${await said(folder.log, size)}`,
  )
}

/** What was written to the log since. */
async function said(log: string, from: number): Promise<string> {
  await using file = await open(log)
  const { buffer, bytesRead } = await file.read({ position: from, buffer: Buffer.alloc(4_096) })
  return buffer.toString('utf8', 0, bytesRead).trim().split('\n').at(-1) || `nothing in ${log}`
}
