import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { frugalEnvironment } from '#common/process/frugal-environment.ts'
import { identityNow, isAlive, type ProcessIdentity } from '#common/process/process-stat.ts'

/** A command to run in the background, and the log its output is appended to. */
export interface Command {
  readonly argv: readonly string[]
  readonly log: string
}

export interface Child {
  readonly identity: ProcessIdentity
  /** Resolves once it has ended, to a few words that say how ("exit code 1", "signal SIGKILL"). */
  readonly ended: Promise<string>
}

export interface Children {
  /** Starts a command in a session of its own. Rejects when the program cannot be started. */
  launch(command: Command): Promise<Child>
  /** Watches a process that an earlier supervisor started; undefined when it is gone. */
  adopt(identity: ProcessIdentity): Promise<Child | undefined>
}

/** Processes of this machine. */
export const realChildren: Children = { launch, adopt }

/**
 * The environment of what runs in the background. Options meant for the program that started us (a debugger, a test
 * runner) are left out.
 */
export function backgroundEnvironment(): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { ...frugalEnvironment, ...process.env }
  delete env['NODE_OPTIONS']
  return env
}

function launch(command: Command): Promise<Child> {
  const [program = '', ...rest] = command.argv
  const output = openSync(command.log, 'a', 0o600)
  const child = spawn(program, rest, {
    stdio: ['ignore', output, output],
    detached: true,
    env: backgroundEnvironment(),
  })
  closeSync(output)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('spawn', () => {
      const pid = child.pid ?? 0
      const ended = new Promise<string>((end) =>
        child.once('exit', (code, signal) => end(signal === null ? `exit code ${code}` : `signal ${signal}`)),
      )
      // The child is not reaped before the event loop turns, so its entry in /proc is still there, a zombie's at worst.
      resolve({ identity: identityNow(pid), ended })
    })
  })
}

async function adopt(identity: ProcessIdentity): Promise<Child | undefined> {
  if (!isAlive(identity)) return undefined
  return { identity, ended: untilGone(identity) }
}

/** The kernel tells only a parent of a process's end, so an adopted one is looked at four times a second. */
async function untilGone(identity: ProcessIdentity): Promise<string> {
  while (isAlive(identity)) await new Promise((resolve) => setTimeout(resolve, 250))
  return 'it ended'
}
