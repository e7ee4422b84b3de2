import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { InstanceRow, TopologyView } from '#api-contract/views.ts'
import { patienceMs } from '#test/support/patience.ts'
import type { Io } from './terminal/io.ts'
import { run } from './run.ts'

export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** When Ctrl-C comes: after so many milliseconds, or once enough is printed. */
export type Interrupt = number | ((out: readonly string[]) => boolean)

/** Runs a command line in this process, with Ctrl-C at that moment, and gives what it printed. */
export async function regent(
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
  interrupt: Interrupt = patienceMs,
): Promise<Ran> {
  const [out, err]: [string[], string[]] = [[], []]
  const enough = new AbortController()
  const io: Io = {
    env,
    out: (line) => {
      out.push(line)
      if (typeof interrupt === 'function' && interrupt(out)) enough.abort()
    },
    note: (line) => err.push(line),
    colour: false,
    terminal: false,
    interrupted: () => (typeof interrupt === 'number' ? AbortSignal.timeout(interrupt) : enough.signal),
  }
  const code = await run(argv, io)
  return { code, out: out.join('\n'), err: err.join('\n') }
}

export interface Asked {
  readonly method: string
  readonly path: string
  readonly body: unknown
  readonly authorization: string
}

/** Answers every request with what `respond` gives; null leaves it without an answer. */
export async function httpServer(respond: (asked: Asked) => { status: number; body: string } | null): Promise<string> {
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (part: string) => (text += part))
    request.on('end', () => {
      const answer = respond({
        method: request.method ?? '',
        path: request.url ?? '',
        body: text === '' ? undefined : (JSON.parse(text) as unknown),
        authorization: request.headers.authorization ?? '',
      })
      if (answer !== null) response.writeHead(answer.status).end(answer.body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

export function row(name: string, changes: Partial<InstanceRow> = {}): InstanceRow {
  return {
    name,
    host: `127.24.1.${Number(name.split('-').at(-1)) + 1}`,
    port: 3306,
    role: 'replica',
    process: 'running',
    reachable: true,
    inSyncSet: true,
    acknowledging: true,
    lagSeconds: 0,
    backlog: 0,
    behind: false,
    readOnly: true,
    offline: false,
    fenced: false,
    version: '9.7.4',
    executed: '',
    problems: [],
    ...changes,
  }
}

export function topology(changes: Partial<TopologyView> = {}): TopologyView {
  return {
    name: 'demo',
    mode: 'semisync',
    durability: 'strict',
    epoch: 3,
    revision: 12,
    primary: 'demo-1',
    writable: true,
    whole: true,
    problems: [],
    syncSet: ['demo-0', 'demo-2'],
    acks: 1,
    acksWanted: 1,
    condition: 'primaryWell',
    sentence: 'no action: primary demo-1 is healthy, 2 of 2 replicas in the sync set',
    news: 'no action: primary demo-1 is healthy, # of # in the sync set',
    blocked: false,
    paused: false,
    instances: [
      row('demo-0'),
      row('demo-1', { role: 'primary', inSyncSet: false, readOnly: false, lagSeconds: null, backlog: null }),
      row('demo-2'),
    ],
    tree: [
      {
        name: 'demo-1',
        replicas: [
          { name: 'demo-0', replicas: [] },
          { name: 'demo-2', replicas: [] },
        ],
      },
    ],
    ...changes,
  }
}
