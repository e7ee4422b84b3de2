import { rm } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import { catalogue, type ErrorCode } from '#common/errors/error-catalogue.ts'
import { codeOf, describeError, RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'

const requestLimit = 4096

const requestSchema = Type.Object(
  {
    command: Type.Union([
      Type.Literal('status'),
      Type.Literal('reload'),
      Type.Literal('start'),
      Type.Literal('stop'),
      Type.Literal('shutdown'),
    ]),
    process: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
  },
  { additionalProperties: false },
)

/** What the supervisor can be asked: `start` and `stop` name a process. */
export type ControlRequest = Static<typeof requestSchema>

/**
 * Listens on a Unix socket that only its owner may use: one JSON line asks, one answers. The handler's errors travel
 * with their code.
 */
export async function serveControl(
  path: string,
  handle: (request: ControlRequest) => Promise<unknown>,
): Promise<Server> {
  await rm(path, { force: true })
  const server = createServer((socket) => {
    socket.setTimeout(5_000, () => socket.destroy())
    socket.on('error', () => socket.destroy())
    let text = ''
    socket.setEncoding('utf8').on('data', (part: string) => {
      text += part
      if (text.length > requestLimit) return void socket.destroy()
      const end = text.indexOf('\n')
      if (end === -1) return
      socket.setTimeout(0).removeAllListeners('data')
      void answer(socket, text.slice(0, end), handle)
    })
  })
  const mask = process.umask(0o177)
  try {
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve))
  } finally {
    process.umask(mask)
  }
  return server
}

async function answer(
  socket: Socket,
  line: string,
  handle: (request: ControlRequest) => Promise<unknown>,
): Promise<void> {
  try {
    const request: unknown = JSON.parse(line)
    if (!Value.Check(requestSchema, request))
      throw new RegentError('REGENT_BAD_REQUEST', say`the supervisor does not know this request`)
    socket.end(`${JSON.stringify({ ok: await handle(request) })}\n`)
  } catch (error) {
    socket.end(`${JSON.stringify({ error: { code: codeOf(error), message: describeError(error) } })}\n`)
  }
}

/**
 * Asks the supervisor that listens at `path`. Undefined when none does. Throws what it refused with, or
 * `REGENT_TIMED_OUT` after `deadlineMs`.
 */
export async function askSupervisor(
  path: string,
  request: ControlRequest,
  deadlineMs: number,
): Promise<{ readonly answer: unknown } | undefined> {
  const line = await exchange(path, `${JSON.stringify(request)}\n`, deadlineMs)
  if (line === undefined) return undefined
  const reply = JSON.parse(line) as { ok?: unknown; error?: { code: string; message: string } }
  if (reply.error === undefined) return { answer: reply.ok }
  const code = (reply.error.code in catalogue ? reply.error.code : 'REGENT_INTERNAL') as ErrorCode
  throw new RegentError(code, say`${reported(reply.error.message)}`)
}

function exchange(path: string, request: string, deadlineMs: number): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    let text = ''
    const timer = setTimeout(() => {
      socket.destroy()
      reject(new RegentError('REGENT_TIMED_OUT', say`the supervisor at ${path} did not answer within ${deadlineMs} ms`))
    }, deadlineMs)
    socket.setEncoding('utf8')
    socket.on('connect', () => socket.write(request))
    socket.on('data', (part: string) => (text += part))
    // Not there, not listening, or gone in the middle of the answer: nobody supervises.
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(text.endsWith('\n') ? text : undefined)
    })
  })
}
