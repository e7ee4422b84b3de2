import { connect } from 'node:net'
import { described, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'

export interface Asking {
  /** The time for the whole answer, in milliseconds: an HAProxy may also say a little again and again. */
  readonly withinMs: number
  /** In characters. No answer to a command of the router has a tenth of the default. */
  readonly longest?: number
}

const longestAnswer = 1_048_576

/**
 * Sends one line to a runtime socket, and gives whatever came until HAProxy closed the connection: the whole answer, or
 * a part. Throws `REGENT_SYSTEM` where nobody answers, or not in time, or without an end.
 */
export function exchange(
  path: string,
  request: string,
  { withinMs, longest = longestAnswer }: Asking,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    let answer = ''
    const fail = (why: unknown): void => {
      clearTimeout(deadline)
      socket.destroy()
      reject(
        new RegentError('REGENT_SYSTEM', say`HAProxy does not answer at ${path}: ${described(why)}`, { cause: why }),
      )
    }
    const deadline = setTimeout(() => fail(new Error(`no whole answer within ${withinMs} ms`)), withinMs)
    socket.setEncoding('utf8')
    socket.on('connect', () => socket.write(request))
    socket.on('data', (part: string) => {
      answer += part
      if (answer.length > longest) fail(new Error(`the answer has more than ${longest} characters`))
    })
    socket.on('error', fail)
    socket.on('end', () => {
      clearTimeout(deadline)
      resolve(answer)
    })
  })
}

/** HAProxy ends each answer by an empty line. The answer of an HAProxy that died meanwhile may end anywhere. */
export function isWhole(answer: string): boolean {
  return answer.endsWith('\n\n')
}
