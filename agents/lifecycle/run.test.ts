import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { mostFreePipes } from './actions/pipes.ts'
import { bash } from './testing.ts'

const main = join(import.meta.dirname, '..', '..', 'src', 'main.ts')
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lifecycle-'))
})

afterAll(() => rm(folder, { recursive: true }))

/** Among the options: as the first process of a container. */
const isolated = 'isolated'
const isolation = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--kill-child', '--mount-proc']

function canIsolate(): boolean {
  return spawnSync(isolation[0] ?? '', [...isolation.slice(1), 'true']).status === 0
}

interface Agent {
  readonly process: ChildProcess
  /** Lines of its log whose message begins so; the first that comes. */
  readonly said: (start: string) => Promise<Readonly<Record<string, unknown>>>
  readonly ended: Promise<number | null>
  readonly errors: Promise<string>
}

/** `regent lifecycle-agent` as a process, with these actions and options. */
function start(environment: Readonly<Record<string, string>>, ...options: readonly string[]): Agent {
  const isIsolated = options.includes(isolated)
  const argv = [process.execPath, main, 'lifecycle-agent', '--address', '127.0.0.1']
  const [program = '', ...given] = [
    ...(isIsolated ? isolation : []),
    ...argv,
    ...options.filter((word) => word !== isolated),
  ]
  const child = spawn(program, given, {
    env: { PATH: process.env['PATH'] ?? '', FOLDER: folder, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines: string[] = []
  let rest = ''
  child.stdout.on('data', (chunk: Buffer) => {
    const parts = (rest + chunk.toString()).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts)
  })
  const find = (start: string) =>
    lines.map((line) => JSON.parse(line) as { readonly msg: string }).find(({ msg }) => msg.startsWith(start))
  return {
    process: child,
    said: async (start) => {
      await expect.poll(() => find(start), { timeout: 60_000 }).toBeDefined()
      return { ...find(start) }
    },
    ended: once(child, 'exit').then(([code]: (number | null)[]) => code ?? null),
    errors: text(child.stderr),
  }
}

const served = (...actions: readonly object[]) => ({
  KB_AGENT_ACTION: JSON.stringify(actions),
  KB_AGENT_PROBE: 'null',
})

const anyPorts = ['--port', '0', '--streaming-port', '0'] as const

async function post(where: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  const answer = await fetch(`http://${where}/v1.0/action`, { method: 'POST', body: JSON.stringify(body), headers })
  return `${answer.status} ${await answer.text()}`
}

describe('regent lifecycle-agent', () => {
  it('serves what its environment says, and ends in order with everything that it started', async () => {
    const sleeper = bash('sleep', 'echo $$ > $FOLDER/pid; sleep 300 & echo $! >> $FOLDER/pid; wait')
    const environment = {
      ...served(bash('hello', 'echo -n "hello $NAME"'), sleeper, bash('dataDump', 'echo -n data')),
      KB_AGENT_STREAMING: 'dataDump',
    }
    const agent = start(environment, ...anyPorts, '--open', '--drain', '200ms')
    const { address } = (await agent.said('HTTP listens')) as { readonly address: string }
    const streaming = (await agent.said('streaming listens')) as { readonly address: string }
    expect(await post(address, { action: 'hello', parameters: { NAME: 'you' } })).toBe('200 {"output":"aGVsbG8geW91"}')
    const [host, port] = streaming.address.split(':')
    const socket = connect(Number(port), host ?? '')
    socket.write('{"action":"dataDump"}')
    expect((await buffer(socket)).toString()).toBe('data')
    const slow = post(address, { action: 'sleep' })
    await expect.poll(() => readFile(join(folder, 'pid'), 'utf8').catch(() => '')).toMatch(/^\d+\n\d+\n$/)
    agent.process.kill('SIGTERM')
    expect(await slow).toBe('200 {"error":"failed","message":"the agent is stopping: failed"}')
    expect(await agent.ended).toBe(0)
    const pids = (await readFile(join(folder, 'pid'), 'utf8')).trim().split('\n')
    await expect.poll(() => Promise.all(pids.map(runs))).toEqual([false, false])
  })

  it('goes on with the action of a client that went away', async () => {
    const slow = bash(
      'slow',
      'touch $FOLDER/begun; until [ -e $FOLDER/go ]; do sleep 0.05; done; touch $FOLDER/finished',
    )
    const isThere = (name: string) =>
      stat(join(folder, name)).then(
        () => true,
        () => false,
      )
    const agent = start(served(slow), ...anyPorts, '--open', '--max-concurrency', '1')
    const { address } = (await agent.said('HTTP listens')) as { readonly address: string }
    const gone = new AbortController()
    const asked = fetch(`http://${address}/v1.0/action`, {
      method: 'POST',
      body: '{"action":"slow"}',
      signal: gone.signal,
    })
    asked.catch(() => undefined)
    await expect.poll(() => isThere('begun')).toBe(true)
    gone.abort()
    await expect(asked).rejects.toThrow()
    expect(await post(address, { action: 'slow' })).toMatch(/^503 .*1 calls run already/)
    await writeFile(join(folder, 'go'), '')
    await expect.poll(() => isThere('finished')).toBe(true)
  })

  it('holds no file and no process more after hundreds of calls at once than before', async () => {
    const agent = start(served(bash('a', 'echo -n x')), ...anyPorts, '--open', '--max-concurrency', '300')
    const { address } = (await agent.said('HTTP listens')) as { readonly address: string }
    const held = async () => (await readdir(`/proc/${agent.process.pid}/fd`)).length - (await socketsOf(agent))
    await post(address, { action: 'a' })
    const before = await held()
    for (let round = 0; round < 3; round += 1) {
      const answers = await Promise.all(Array.from({ length: 300 }, () => post(address, { action: 'a' })))
      expect(new Set(answers)).toEqual(new Set(['200 {"output":"eA=="}']))
      // Connections that stay are not what is looked for.
      await post(address, { action: 'a' }, { connection: 'close' })
    }
    // Pipes of the last commands close a moment after their answers, and some are kept for the next.
    await expect.poll(held).toBeLessThanOrEqual(before + mostFreePipes)
    const children = `/proc/${agent.process.pid}/task/${agent.process.pid}/children`
    await expect.poll(() => readFile(children, 'utf8')).toBe('')
  })

  it.runIf(canIsolate())('is no PID 1 that leaves zombies: a shell takes its place and reaps them', async () => {
    const zombies = 'grep -ls "^State:.Z" /proc/[0-9]*/status | wc -l'
    const sleepers = 'grep -lsx sleep /proc/[0-9]*/comm | wc -l'
    const environment = served(
      bash('orphan', '(sleep 0.1 >/dev/null 2>&1 &) ; true'),
      bash('count', `echo -n "$(tr '\\0' ' ' < /proc/1/cmdline | head -c 10) $(${sleepers}) $(${zombies})"`),
      bash('stop', 'kill -TERM 1'),
    )
    const agent = start(environment, ...anyPorts, '--open', isolated)
    const { address } = (await agent.said('HTTP listens')) as { readonly address: string }
    for (let at = 0; at < 5; at += 1) await post(address, { action: 'orphan' })
    const counted = async (): Promise<string> => {
      const { output } = JSON.parse((await post(address, { action: 'count' })).slice(4)) as { readonly output: string }
      return Buffer.from(output, 'base64').toString()
    }
    // All of them have ended, and nobody is left of them.
    await expect.poll(counted).toBe('/bin/sh -c 0 0')
    await post(address, { action: 'stop' })
    expect(await agent.ended).toBe(0)
  })

  it('asks for the token of its file', async () => {
    const tokenFile = join(folder, 'token')
    await writeFile(tokenFile, 'the-token-of-the-test\n', { mode: 0o600 })
    const agent = start(served(bash('a', 'true')), ...anyPorts, '--token-file', tokenFile)
    const { address, open } = (await agent.said('HTTP listens')) as { readonly address: string; readonly open: boolean }
    expect(open).toBe(false)
    expect(await post(address, { action: 'a' })).toMatch(/^401 /)
    expect(await post(address, { action: 'a' }, { authorization: 'Bearer the-token-of-the-test' })).toBe('200 {}')
  })

  it('listens on a socket in a folder, also where a killed agent left one', async () => {
    const options = [...anyPorts, '--open', '--unix-socket', join(folder, 'sockets')]
    const killed = start(served(bash('a', 'true')), ...options)
    await killed.said('HTTP listens')
    killed.process.kill('SIGKILL')
    await killed.ended
    const agent = start(served(bash('a', 'echo -n x')), ...options)
    expect(await agent.said('HTTP listens')).toMatchObject({ address: join(folder, 'sockets', 'kbagent.socket') })
    const answer = await new Promise<string>((resolve, reject) => {
      const socketPath = join(folder, 'sockets', 'kbagent.socket')
      const asked = request({ socketPath, path: '/v1.0/action', method: 'POST' }, (incoming) => {
        text(incoming).then(resolve, reject)
      })
      asked.on('error', reject).end('{"action":"a"}')
    })
    expect(answer).toBe('{"output":"eA=="}')
    const second = start(served(), ...options)
    expect(await second.ended).not.toBe(0)
    expect(await second.errors).toContain('kbagent.socket (--unix-socket) is taken by another process')
  })

  it.each([
    ['reports its probes in the log where there is no Kubernetes', false],
    ['waits for the result of a probe whose action does not block', true],
  ])('%s', async (_what, nonBlocking) => {
    const probes = JSON.stringify([{ instance: 'shop-mysql', action: 'role', periodSeconds: 1 }])
    const role = bash('role', 'echo -n primary', { nonBlocking })
    const environment = { ...served(role), KB_AGENT_PROBE: probes }
    const agent = start(environment, ...anyPorts, '--open')
    expect(await agent.said('a probe reports')).toMatchObject({
      reason: 'role',
      event: '{"instance":"shop-mysql","probe":"role","code":0,"output":"cHJpbWFyeQ=="}',
    })
  })

  it.each([
    [{}, anyPorts, 'who may call is not said; give --token-file, or --open'],
    [
      {},
      ['--port', '7', '--streaming-port', '7', '--open'],
      '--port and --streaming-port are both 7; each needs its own',
    ],
    [
      { KB_AGENT_ACTION: '[{}]' },
      [...anyPorts, '--open'],
      'KB_AGENT_ACTION: action 1 of 1: the top level lacks "name"',
    ],
    [
      { KB_AGENT_TASK: '[{"task":"x"}]' },
      ['--server=false'],
      'KB_AGENT_TASK: task "x": the top level lacks "instance"',
    ],
  ])('refuses to start: %j %j', async (environment, options, sentence) => {
    const agent = start(environment, ...options)
    expect(await agent.ended).not.toBe(0)
    expect(await agent.errors).toContain(sentence)
  })

  it('names the option of a port that is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    onTestFinished(() => void other.close())
    const { port } = other.address() as AddressInfo
    const agent = start(served(), '--open', '--streaming-port', '0', '--port', String(port))
    expect(await agent.ended).not.toBe(0)
    expect(await agent.errors).toContain(`127.0.0.1:${port} (--port) is taken by another process`)
  })

  it('loads the data of a new replica as a worker, from an agent that asks for a token', async () => {
    const tokenFile = join(folder, 'worker-token')
    await writeFile(tokenFile, 'the-token-of-the-test\n', { mode: 0o600 })
    const dump = { ...served(bash('dataDump', 'echo -n "for $KB_TARGET_POD_NAME"')), KB_AGENT_STREAMING: 'dataDump' }
    const source = start(dump, ...anyPorts, '--token-file', tokenFile)
    const { address } = (await source.said('streaming listens')) as { readonly address: string }
    const [remote, port] = address.split(':')
    const tasks = [
      {
        instance: 'shop-mysql',
        task: 'newReplica',
        UID: 'u',
        replicas: 'shop-mysql-1',
        newReplica: { remote, port: Number(port) },
      },
    ]
    const environment = {
      KB_AGENT_ACTION: JSON.stringify([bash('dataLoad', 'cat > $FOLDER/loaded')]),
      KB_AGENT_TASK: JSON.stringify(tasks),
    }
    const own = start(
      { ...environment, KB_AGENT_POD_NAME: 'shop-mysql-1' },
      '--server=false',
      '--token-file',
      tokenFile,
    )
    expect(await own.ended).toBe(0)
    expect(await readFile(join(folder, 'loaded'), 'utf8')).toBe('for shop-mysql-1')
    source.process.kill('SIGTERM')
    await source.ended
    const failed = start({ ...environment, KB_AGENT_POD_NAME: 'shop-mysql-1' }, '--server=false')
    expect(await failed.ended).not.toBe(0)
    expect(await failed.errors).toMatch(/task newReplica \(u\): 127\.0\.0\.1:\d+ cannot be reached: .*ECONNREFUSED/)
  })
})

/** How many sockets a process holds. */
async function socketsOf({ process: { pid } }: Agent): Promise<number> {
  const links = await Promise.all(
    (await readdir(`/proc/${pid}/fd`)).map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')),
  )
  return links.filter((link) => link.startsWith('socket:')).length
}

async function runs(pid: string): Promise<boolean> {
  return readFile(`/proc/${pid}/stat`, 'latin1').then(
    (line) => !/^\d+ \(.*\) [ZX]/.test(line),
    () => false,
  )
}
