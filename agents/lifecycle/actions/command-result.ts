import { joined, say, text, type Sentence } from '#common/sentence/sentence.ts'
import { refusal, succeeded, type ActionResult } from '../wire/calls.ts'
import type { CommandEnd } from './run-command.ts'

/** What a caller is told of a command's end. */
export function resultOfCommand(end: CommandEnd): ActionResult {
  switch (end.is) {
    case 'notStarted':
      return refusal('failed', say`failed to start command: ${text(end.why)}`)
    case 'exited':
      return end.code === 0
        ? succeeded(end.output)
        : refusal('failed', withStderr(say`exit code: ${end.code}`, ', ', end.stderr))
    case 'signalled':
      return refusal('failed', withStderr(say`exit code: -1 (${end.by})`, ', ', end.stderr))
    case 'timedOut':
      return refusal('timedOut', end.leftBehind ? leftBehind(end.stderr) : end.stderr && say`${text(end.stderr)}`)
    case 'tooMuchOutput':
      return refusal(
        'failed',
        say`the command wrote more than ${end.limitBytes} bytes to standard output and was killed; larger output goes through the streaming port, or raise --max-output`,
      )
    case 'stopped':
      return refusal('failed', say`the agent is stopping`)
  }
}

function leftBehind(stderr: string): Sentence {
  const why = say`the command ended, and a process that it left behind held its output open until it was killed`
  return withStderr(why, '; ', stderr)
}

/** Standard error that is empty is not spoken of. */
function withStderr(what: Sentence, separator: ', ' | '; ', stderr: string): Sentence {
  return stderr === '' ? what : say`${joined([what, say`stderr: ${text(stderr)}`], separator)}`
}
