import { createHmac } from 'node:crypto'
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import { request as requestHttps } from 'node:https'
import { describeError } from '#common/errors/errors.ts'
import type { Timers } from '#common/ports/ports.ts'
import { request as requestHttp } from '#common/http/node-http.ts'
import { duration } from '#common/text/words.ts'
import type { HookEnd } from '../loop/hooks/hook-port.ts'

export interface Letter {
  readonly url: string
  readonly body: string
  /** The same for each try. */
  readonly key: string
  readonly moment: string
  /** Signs what is sent; null for nothing. */
  readonly secret: string | null
  readonly wallMs: number
  readonly deadlineMs: number
}

/** Bytes of an answer that are read. */
const keptBytes = 1_024
/** Answers of servers that may do better later. */
const later = [408, 425, 429]

/** Posts a letter once. `again`: the server did not take it, and may later. Never rejects. */
export function sendWebhook(letter: Letter, timers: Timers): Promise<HookEnd & { readonly again: boolean }> {
  return new Promise((resolve) => {
    let request: ClientRequest | undefined
    let answered: (() => void) | undefined
    const failed = (said: string, again = true): void => {
      resolve({ isDone: false, said, again })
      request?.destroy()
    }
    try {
      const send = new URL(letter.url).protocol === 'https:' ? requestHttps : requestHttp
      request = send(letter.url, optionsOf(letter), (answer) => {
        answered = readAnswer(answer, (text) => resolve(endOf(answer.statusCode ?? 0, text)))
      })
      const late = (): void => {
        // The status says whether the letter was taken: an answer that never ends takes nothing of that back.
        answered?.()
        failed(`no answer within ${duration(letter.deadlineMs)}`)
      }
      const timer = timers.after(letter.deadlineMs, late)
      request.once('close', () => timer.cancel())
      request.once('error', (error) => failed(describeError(error)))
      request.end(letter.body)
    } catch (error) {
      failed(describeError(error), false)
    }
  })
}

function optionsOf({ body, key, moment, secret, wallMs }: Letter): RequestOptions {
  return {
    method: 'POST',
    // A connection of its own: it happens seldom.
    agent: false,
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': 'regent',
      'idempotency-key': key,
      'regent-moment': moment,
      ...(secret !== null && { 'regent-signature': signatureOf(secret, body, wallMs) }),
    },
  }
}

/** `t=<seconds since 1970>,v1=<HMAC-SHA256 of "t.body" in hexadecimal digits>`. */
export function signatureOf(secret: string, body: string, wallMs: number): string {
  const seconds = Math.floor(wallMs / 1_000)
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`
}

function endOf(status: number, text: string): HookEnd & { readonly again: boolean } {
  const isDone = status >= 200 && status < 300
  const said = `status ${status}${text === '' ? '' : `: ${text}`}`
  return { isDone, said, again: !isDone && (status >= 500 || later.includes(status)) }
}

/** The first line of an answer, shortened; the rest is not waited for. @returns ends it with what has come by then */
function readAnswer(answer: IncomingMessage, done: (text: string) => void): () => void {
  let text = ''
  const end = (): void => {
    done(
      (text.split('\n', 1)[0] ?? '')
        .replaceAll(/\p{Cc}/gu, ' ')
        .trim()
        .slice(0, 160),
    )
    answer.destroy()
  }
  answer.setEncoding('utf8')
  answer.on('data', (more: string) => {
    text += more
    if (text.length >= keptBytes) end()
  })
  answer.once('end', end)
  answer.once('error', end)
  answer.once('aborted', end)
  return end
}
