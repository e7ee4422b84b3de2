import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server as HttpServer } from 'node:http'
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { hostPort } from '#common/text/host-port.ts'
import type { HookDocument } from '#failover/protocol/hook-document.ts'

/** What a webhook brought. */
export interface Letter {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly told: HookDocument
  /** How it was answered. */
  readonly status: number
}

/** What a command told: by its environment, by its words, and by its standard input. */
export interface Call {
  readonly environment: Readonly<Record<string, string>>
  readonly words: readonly string[]
  readonly told: HookDocument
  /** Resolves once the command has gone, whoever ended it. */
  readonly gone: Promise<unknown>
}

/** How a command ends: by this exit code, with these words. */
export interface Answer {
  readonly code: number
  readonly words: string
}

const well: Answer = { code: 0, words: 'taken' }

const variables = ['REGENT_KEY', 'REGENT_MOMENT', 'REGENT_NAMESPACE', 'REGENT_SUCCESSOR_HOST', 'ORC_SUCCESSOR_ALIAS']

/**
 * A command that an image needs nothing but bash for. It tells a receiver what it was told, and ends as the receiver
 * says, perhaps much later.
 */
const tells = [
  'exec 3<>"/dev/tcp/$0/$1" || exit 9',
  `printf '%s|' ${variables.map((name) => `"$${name}"`).join(' ')} "\${@:2}" >&3`,
  'echo >&3',
  'cat >&3',
  'read -r code words <&3 || exit 8',
  'echo "$words"',
  'exit "$code"',
].join('; ')

/** Listens for the hooks of a test, webhooks and commands, and remembers what they brought. */
export class HookReceiver {
  readonly letters: Letter[] = []
  readonly calls: Call[] = []
  /** So many webhooks are refused with 503 from now on. */
  refusals = 0
  /** How the commands of a moment end; well, unless it is said. A promise is waited for. */
  readonly answers = new Map<string, Answer | Promise<Answer>>()
  readonly #http: HttpServer
  readonly #tcp: Server
  readonly #host: string

  private constructor(host: string) {
    this.#host = host
    this.#http = createServer((request, response) => {
      let body = ''
      request.setEncoding('utf8').on('data', (part: string) => (body += part))
      request.on('end', () => {
        const status = this.refusals-- > 0 ? 503 : 204
        this.letters.push({ headers: request.headers, body, told: JSON.parse(body) as HookDocument, status })
        response.writeHead(status).end()
      })
    })
    this.#tcp = createTcpServer((socket) => this.#takeCall(socket))
  }

  static async start(host: string): Promise<HookReceiver> {
    const receiver = new HookReceiver(host)
    for (const server of [receiver.#http, receiver.#tcp]) await once(server.listen(0, host), 'listening')
    return receiver
  }

  end(): void {
    this.#http.close()
    this.#tcp.close()
  }

  get url(): string {
    return `http://${hostPort(this.#host, portOf(this.#http))}/regent?token=never-shown`
  }

  get command(): readonly string[] {
    const places = ['{failedHost}', '{successorInstance}', '{failureType}']
    return ['bash', '-c', tells, this.#host, String(portOf(this.#tcp)), ...places]
  }

  /** Forgets what came, and how commands are to end. */
  clear(): void {
    this.letters.length = 0
    this.calls.length = 0
    this.refusals = 0
    this.answers.clear()
  }

  /** By moment, in the order in which they came: each call of a command. */
  get called(): readonly string[] {
    return this.calls.map(({ told }) => told.moment)
  }

  /** By moment, in the order in which they came: each letter that was taken. */
  get posted(): readonly string[] {
    return this.letters.filter(({ status }) => status === 204).map(({ told }) => told.moment)
  }

  #takeCall(socket: Socket): void {
    const gone = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    let text = ''
    socket.on('error', () => undefined)
    socket.setEncoding('utf8').on('data', (part: string) => {
      text += part
      const [said = '', document, rest] = text.split('\n')
      if (document === undefined || rest === undefined) return
      socket.removeAllListeners('data').resume()
      const words = said.split('|')
      const environment = Object.fromEntries(variables.map((name, at) => [name, words[at] ?? '']))
      const told = JSON.parse(document) as HookDocument
      this.calls.push({ environment, words: words.slice(variables.length, -1), told, gone })
      void this.#answer(socket, told.moment)
    })
  }

  async #answer(socket: Socket, moment: string): Promise<void> {
    const { code, words } = (await this.answers.get(moment)) ?? well
    socket.end(`${code} ${words}\n`)
  }
}

function portOf(server: Server | HttpServer): number {
  return (server.address() as AddressInfo).port
}

/** Whether a letter is signed with this secret, as a receiver finds that out. */
export function isSigned({ headers, body }: Letter, secret: string): boolean {
  const [, seconds = '', signature] = /^t=(\d+),v1=(.*)$/.exec(String(headers['regent-signature'])) ?? []
  return signature === createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')
}
