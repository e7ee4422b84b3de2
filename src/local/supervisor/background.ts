import { spawn } from 'node:child_process'
import { mkdir, open, readdir, rm, rmdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { RegentError } from '#common/errors/errors.ts'
import { say, text } from '#common/sentence/sentence.ts'
import { frugalNode } from '#common/process/frugal-environment.ts'
import type { ProcessIdentity } from '#common/process/process-stat.ts'
import { handClaimTo, type NumberClaim } from '../addresses/addresses.ts'
import { backgroundEnvironment } from './child.ts'
import { processesOf, type ProcessKind } from '../processes/cluster-processes.ts'
import { askSupervisor } from './control.ts'
import { withFileLock } from '../files/file-lock.ts'
import { isMissing } from '../files/input-file.ts'
import { explainingLines } from '../logs/log-tail.ts'
import { mysqldOf, readBook } from '../processes/process-book.ts'
import { endProcess, killProcess, waitUntilGone } from '../processes/process-identity.ts'
import { keepArchives } from '../folder/kept-archives.ts'
import { logPath, ownEntries, stateHome, type StateLayout } from '../folder/state-layout.ts'
import type { SupervisedStatus } from './supervised-process.ts'
import { regentCommand } from './regent-command.ts'

const supervisorProcess = 'supervisor'
const startDeadlineMs = 15_000
/** The manager's and an agent's grace one after the other, and time to spare. */
const shutdownDeadlineMs = 20_000

/** What the supervisor says of its processes; undefined when none runs. */
export async function supervisorStatus(layout: StateLayout): Promise<readonly SupervisedStatus[] | undefined> {
  const reply = await askSupervisor(layout.control, { command: 'status' }, 2_000)
  return reply && (reply.answer as { processes: readonly SupervisedStatus[] }).processes
}

/**
 * Starts the supervisor in a session of its own, so that it survives the terminal, gives it the claim of the cluster's
 * number and waits until it answers. Throws `REGENT_REFUSED` with what its log says when it ends at once.
 */
export async function startSupervisor(layout: StateLayout, claim: NumberClaim): Promise<void> {
  const log = logPath(layout, supervisorProcess)
  const since = Date.now()
  await using output = await open(log, 'a', 0o600)
  const [program = '', ...rest] = regentCommand(frugalNode)
  const child = spawn(program, [...rest, 'local', 'supervise', layout.dir], {
    stdio: ['ignore', output.fd, output.fd, 'ipc'],
    detached: true,
    cwd: layout.dir,
    env: backgroundEnvironment(),
  })
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code, signal) => resolve(`exit ${signal ?? code}`))
  })
  child.unref()
  await handClaimTo(child, claim)
  const outcome = await Promise.race([ended, untilAnswering(layout)])
  if (outcome === 'answers') return
  const lines = await explainingLines(layout, [supervisorProcess], since)
  throw new RegentError(
    'REGENT_REFUSED',
    say`the supervisor could not be started (${outcome}): ${lines.length === 0 ? say`nothing in ${log}` : text(lines.join('; '))}`,
  )
}

async function untilAnswering(layout: StateLayout): Promise<string> {
  const until = performance.now() + startDeadlineMs
  while (performance.now() < until) {
    if ((await supervisorStatus(layout)) !== undefined) return 'answers'
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return `it did not answer within ${startDeadlineMs / 1000} s`
}

/**
 * Ends everything of a cluster: supervisor, manager, agents, then every mysqld by SIGKILL, which is always safe for
 * data (a clean shutdown is not: it acknowledges what waits). Idempotent.
 */
export async function stopCluster(layout: StateLayout): Promise<void> {
  const book = await readBook(layout)
  const told = await askSupervisor(layout.control, { command: 'shutdown' }, 5_000).catch(() => undefined)
  if (book.supervisor !== null) await letGo(book.supervisor, told !== undefined)
  const { manager, ...agents } = book.processes
  if (manager !== undefined) await endProcess(manager, 5_000)
  await Promise.all(Object.values(agents).map((agent) => endProcess(agent, 5_000)))
  await Promise.all((await volumes(layout)).map(killMysqld))
  await endStrays(layout.dir)
  await rm(layout.stopped, { recursive: true, force: true })
}

/**
 * What the cluster's own lists do not name: they, or the whole folder, may have been removed under processes that run.
 */
export async function endStrays(dir: string): Promise<void> {
  const ofKind = async (kind: ProcessKind): Promise<readonly ProcessIdentity[]> =>
    (await processesOf(dir)).filter((one) => one.kind === kind).map(({ identity }) => identity)
  // In this order: each kind starts the next one again.
  for (const supervisor of await ofKind('supervisor')) await killProcess(supervisor)
  for (const manager of await ofKind('manager')) await endProcess(manager, 5_000)
  for (const router of await ofKind('router')) await endProcess(router, 5_000)
  for (const proxy of await ofKind('haproxy')) await endProcess(proxy, 5_000)
  await Promise.all((await ofKind('agent')).map((agent) => endProcess(agent, 5_000)))
  await Promise.all((await ofKind('mysqld')).map(killProcess))
}

async function letGo(supervisor: ProcessIdentity, told: boolean): Promise<void> {
  if (told && (await waitUntilGone(supervisor, shutdownDeadlineMs))) return
  await killProcess(supervisor)
}

async function killMysqld(volume: string): Promise<void> {
  const mysqld = await mysqldOf(volume)
  if (mysqld !== undefined) await killProcess(mysqld)
}

/** Also of instances that were scaled away. */
async function volumes(layout: StateLayout): Promise<readonly string[]> {
  try {
    return (await readdir(layout.instances)).map((name) => join(layout.instances, name))
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

/**
 * Removes what Regent made of a cluster that is down, and its folder if nothing else is in it. An archive may be the
 * only copy of its transactions, and is removed with its instance only where a person asked for that.
 *
 * @returns the folders of archives that are kept; with `remove` none is moved to them
 */
export async function purgeCluster(layout: StateLayout, archives: 'keep' | 'remove'): Promise<readonly string[]> {
  const kept = archives === 'keep' ? await keepArchives(layout) : []
  for (const entry of [...ownEntries(layout), ...(await draftsIn(layout))])
    await rm(entry, { recursive: true, force: true })
  await rmdir(layout.dir).catch((error: unknown) => {
    if (!isMissing(error) && !isNotEmpty(error)) throw error
  })
  return kept
}

/** What a process that was killed in the middle of `replaceFile` has left of the cluster's own files. */
async function draftsIn(layout: StateLayout): Promise<readonly string[]> {
  const own = ownEntries(layout).map((entry) => basename(entry))
  const names = await readdir(layout.dir).catch((error: unknown) => {
    if (isMissing(error)) return []
    throw error
  })
  return names
    .filter((name) => name.endsWith('.new') && own.some((entry) => name.startsWith(`${entry}.`)))
    .map((name) => join(layout.dir, name))
}

/**
 * Runs `work` under the lock that commands hold while they change which clusters there are: two of them at once would
 * choose the same number or undo each other. Where another command holds the lock, that is noted.
 */
export async function underCommandLock<Value>(
  note: (sentence: string) => void,
  work: () => Promise<Value>,
): Promise<Value> {
  const home = stateHome()
  await mkdir(home, { recursive: true, mode: 0o700 })
  return withFileLock(join(home, 'lock'), () => note('waiting for another regent command …'), work)
}

function isNotEmpty(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOTEMPTY' || error.code === 'EEXIST')
}
