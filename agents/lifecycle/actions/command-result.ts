import { refusal, succeeded, type ActionResult } from '../wire/calls.ts'
import type { CommandEnd } from './run-command.ts'

/** What a caller is told of a command's end. */
export function resultOfCommand(end: CommandEnd): ActionResult {
  switch (end.is) {
    case 'notStarted':
      return refusal('failed', `failed to start command: ${end.why}`)
    case 'exited':
      return end.code === 0
        ? succeeded(end.output)
        : refusal('failed', withStderr(`exit code: ${end.code}`, ', ', end.stderr))
    case 'signalled':
      return refusal('failed', withStderr(`exit code: -1 (${end.by})`, ', ', end.stderr))
    case 'timedOut':
      return refusal('timedOut', end.leftBehind ? leftBehind(end.stderr) : end.stderr)
    case 'tooMuchOutput':
      return refusal(
        'failed',
        `the command wrote more than ${end.limitBytes} bytes to standard output and was killed; larger ` +
          'output goes through the streaming port, or raise --max-output',
      )
    case 'stopped':
      return refusal('failed', 'the agent is stopping')
  }
}

function leftBehind(stderr: string): string {
  const why = 'the command ended, and a process that it left behind held its output open until it was killed'
  return withStderr(why, '; ', stderr)
}

/** Standard error that is empty is not spoken of. */
function withStderr(what: string, separator: string, stderr: string): string {
  return stderr === '' ? what : `${what}${separator}stderr: ${stderr}`
}
