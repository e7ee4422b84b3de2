import { accessSync, constants } from 'node:fs'
import { frugalNode } from '#common/process/frugal-environment.ts'

const shell = '/bin/sh'

/**
 * An init in as few words as a shell needs: starts the program, hands SIGTERM and SIGINT on, ends as the program ends.
 * While a shell waits for one child, the shell reaps every other, also children whose own parent is gone.
 */
const init = [
  `trap 'kill -TERM "$program" 2>/dev/null' TERM`,
  `trap 'kill -INT "$program" 2>/dev/null' INT`,
  '"$@" & program=$!',
  'while :; do wait "$program"; status=$?; kill -0 "$program" 2>/dev/null || exit "$status"; done',
].join('; ')

/**
 * Puts a shell in the place of this process, which starts this very program again as its child, where this process is
 * PID 1: Node reaps what Node started and nothing else, so that the processes that scripts leave behind would stay as
 * zombies until no process can be started any more. The child has the small young generation of Regent's other agents.
 * Returns where there is nothing to do, or no shell.
 */
export function startUnderInit(): void {
  const { pid, execPath, execArgv, argv, env } = process
  if (pid !== 1 || process.execve === undefined || !isThere(shell)) return
  const program = [execPath, ...frugalNode, ...execArgv, ...argv.slice(1)]
  process.execve(shell, [shell, '-c', init, shell, ...program], env)
}

function isThere(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
