import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile, mkdtemp, rm, stat } from 'node:fs/promises'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { describeError } from '#common/errors/errors.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { virtualWorld } from '#common/ports/testing-world.ts'
import { ProcessGroups } from '../actions/process-groups.ts'
import type { BuiltInAction, OutgoingStream } from '../built-in/built-in-action.ts'
import { bash, silentLog, testingPipes } from '../testing.ts'
import { refusal } from '../wire/calls.ts'
import type { Action } from '../wire/definitions.ts'
import { loadReplica, type LoadParts } from '../worker/new-replica.ts'
import { preambleOf } from './frames.ts'
import { ObjectEnd } from './object-end.ts'
import { readHandshake } from './read-handshake.ts'
import { createStreamingServer } from './streaming-server.ts'
import { expectBelow } from '#test/support/expect-below.ts'

const environment = { PATH: process.env['PATH'] ?? '' }

async function aServer(dump: Action, token?: string, builtIn: readonly BuiltInAction[] = []) {
  const kill = new AbortController()
  const world = { groups: new ProcessGroups(testingPipes), timers: realWorld.timers }
  const streams = createStreamingServer({
    actions: new Map([dump, bash('quiet', 'echo secret')].map((action) => [action.name, action])),
    streaming: new Set([dump.name]),
    builtIn: new Map(builtIn.map((action) => [action.name, action])),
    environment,
    world,
    token,
    signal: kill.signal,
    log: silentLog(),
  })
  streams.server.listen(0, '127.0.0.1')
  await once(streams.server, 'listening')
  onTestFinished(async () => {
    kill.abort()
    if (streams.server.listening) await streams.end()
    expect(world.groups.running).toBe(0)
  })
  return { port: (streams.server.address() as AddressInfo).port, groups: world.groups, kill, streams }
}

/** What comes back for a text, as a client of KubeBlocks reads it. */
async function answerTo(port: number, text: string | readonly string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  const answer = buffer(socket)
  answer.catch(() => undefined)
  for (const part of [text].flat()) {
    socket.write(part)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return (await answer).toString()
}

describe('the streaming port', () => {
  it('sends what the action writes, with the parameters of the request, and ends', async () => {
    const { port } = await aServer(bash('dataDump', 'echo -n "for $KB_TARGET_POD_NAME: é"; cat; echo noise >&2'))
    const request = '{"action":"dataDump","parameters":{"KB_TARGET_POD_NAME":"shop-1 }\\" {"}}'
    expect(await answerTo(port, request)).toBe('for shop-1 }" {: é')
    expect(
      await answerTo(
        port,
        [...request]
          .map((_, at) => request.slice(at, at + 1))
          .slice(0, 3)
          .concat(request.slice(3)),
      ),
    ).toBe('for shop-1 }" {: é')
  })

  it('serves who ends its own side after the request', async () => {
    const { port } = await aServer(bash('dataDump', 'sleep 0.2; echo late'))
    const socket = connect(port, '127.0.0.1')
    socket.end('{"action":"dataDump"}')
    expect((await buffer(socket)).toString()).toBe('late\n')
  })

  it.each([
    ['an action that is not there', '{"action":"missing"}'],
    ['an action that is not to be streamed', '{"action":"quiet"}'],
    ['what is no JSON', 'GET / HTTP/1.1\r\n\r\n'],
    ['a list', '[{"action":"dataDump"}]'],
    ['a request of another shape', '{"action":7}'],
    ['a request that is too long', `{"action":"dataDump","x":"${'x'.repeat(8_192)}"}`],
  ])('ends without a byte for %s', async (_what, text) => {
    const { port } = await aServer(bash('dataDump', 'echo x'))
    expect(await answerTo(port, text).catch(() => 'reset')).toMatch(/^(reset)?$/)
  })

  it('hangs up on more than 32 clients at a time, and takes another once one has gone', async () => {
    const { port } = await aServer(bash('dataDump', 'echo -n data'))
    const silent = Array.from({ length: 32 }, () => connect(port, '127.0.0.1'))
    onTestFinished(() => silent.forEach((socket) => socket.destroy()))
    await Promise.all(silent.map((socket) => once(socket, 'connect')))
    const request = '{"action":"dataDump"}'
    expect(await answerTo(port, request).catch(() => 'reset')).toMatch(/^(reset)?$/)
    silent[0]?.destroy()
    await expect.poll(() => answerTo(port, request).catch(() => 'reset')).toBe('data')
  })

  it('waits ten seconds for the request of a client, and no longer for one that sends it byte by byte', async () => {
    const world = virtualWorld()
    const socket = new PassThrough()
    const outcome = readHandshake(socket as unknown as Socket, world.timers).catch(describeError)
    for (const part of ['{', '"', 'a']) {
      socket.write(part)
      await world.advance(4_000)
    }
    socket.write('ction":"dataDump"}')
    expect(await outcome).toBe('no request came within 10 s')
    expect(world.pending).toBe(0)
  })

  it('asks for the token in the request where there is one', async () => {
    const { port } = await aServer(bash('dataDump', 'echo -n data'), 'the-token-of-the-test')
    expect(await answerTo(port, '{"action":"dataDump"}')).toBe('')
    expect(await answerTo(port, '{"action":"dataDump","token":"other"}')).toBe('')
    expect(await answerTo(port, '{"action":"dataDump","token":"the-token-of-the-test"}')).toBe('data')
  })

  it('resets the connection when the action fails, so that no client takes a part for the whole', async () => {
    const { port } = await aServer(bash('dataDump', 'echo part; exit 1'))
    await expect(answerTo(port, '{"action":"dataDump"}')).rejects.toThrow('ECONNRESET')
  })

  it('kills the action when its client goes away', async () => {
    const { port, groups } = await aServer(bash('dataDump', 'yes'))
    const socket = connect(port, '127.0.0.1')
    socket.write('{"action":"dataDump"}')
    await once(socket, 'data')
    expect(groups.running).toBe(1)
    socket.destroy()
    await expect.poll(() => groups.running).toBe(0)
  })

  it('ends with the agent, whatever its clients do', async () => {
    const { port, kill, streams } = await aServer(bash('dataDump', 'sleep 60'))
    const [silent, waiting, deaf] = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1'), connect(port, '127.0.0.1')]
    for (const socket of [silent, waiting, deaf]) socket.on('error', () => undefined)
    waiting.write('{"action":"dataDump"}')
    deaf.write(`{"action":"dataDump","framing":"${'ab'.repeat(16)}"}`)
    await Promise.all([once(deaf, 'readable'), once(silent, 'connect')])
    const before = Date.now()
    const ended = streams.end()
    await once(silent, 'close')
    kill.abort()
    await ended
    expectBelow(3_000, Date.now() - before)
  })

  it('does not read faster from the action than its client takes', async () => {
    const { port } = await aServer(bash('dataDump', 'head -c 50000000 /dev/zero; echo -n end'))
    const socket: Socket = connect(port, '127.0.0.1')
    socket.write('{"action":"dataDump"}')
    await once(socket, 'readable')
    const before = process.memoryUsage().arrayBuffers
    await new Promise((resolve) => setTimeout(resolve, 300))
    expectBelow(20_000_000, process.memoryUsage().arrayBuffers - before)
    expect((await buffer(socket)).length).toBe(50_000_003)
  })
})

/** A built-in action that streams these chunks, and how it ends. */
function built(
  chunks: readonly string[],
  end: Awaited<OutgoingStream['ended']> = { ok: true },
): { readonly action: BuiltInAction; readonly killed: readonly string[] } {
  const killed: string[] = []
  const stream: BuiltInAction['stream'] = (parameters) => {
    const ended = Promise.withResolvers<Awaited<OutgoingStream['ended']>>()
    async function* data() {
      try {
        for (const chunk of chunks) yield Buffer.from(chunk.replace('$WHO', parameters['WHO'] ?? ''))
      } finally {
        ended.resolve(end)
      }
    }
    return { data: data(), ended: ended.promise, kill: (why) => void killed.push(why) }
  }
  return { action: { name: 'copy', run: async () => refusal('badRequest'), stream }, killed }
}

describe('a stream that the agent makes itself', () => {
  const script = bash('dataDump', 'echo x')

  it('needs no name in the configuration, and is given the parameters of the request', async () => {
    const { port } = await aServer(script, undefined, [built(['for ', '$WHO']).action])
    expect(await answerTo(port, '{"action":"copy","parameters":{"WHO":"shop-1"}}')).toBe('for shop-1')
  })

  it('asks for the token as any other', async () => {
    const { port } = await aServer(script, 'the-token-of-the-test', [built(['data']).action])
    expect(await answerTo(port, '{"action":"copy"}')).toBe('')
    expect(await answerTo(port, '{"action":"copy","token":"the-token-of-the-test"}')).toBe('data')
  })

  it('that is refused or fails resets the connection, or says why in its trailer', async () => {
    const { port } = await aServer(script, undefined, [
      built([], { ok: false, why: 'no role: preconditionFailed' }).action,
    ])
    await expect(answerTo(port, '{"action":"copy"}')).rejects.toThrow('ECONNRESET')
    const framing = 'a'.repeat(32)
    const answer = await answerTo(port, JSON.stringify({ action: 'copy', framing }))
    expect(answer).toContain('"code":-1,"message":"no role: preconditionFailed"')
  })

  it('that fails while its client reads nothing lets the connection go', async () => {
    const fail = Promise.withResolvers<{ readonly ok: false; readonly why: string }>()
    async function* data() {
      for (;;) yield Buffer.alloc(1_000_000)
    }
    const action: BuiltInAction = {
      name: 'copy',
      run: async () => refusal('badRequest'),
      stream: () => ({ data: data(), ended: fail.promise, kill: () => undefined }),
    }
    const { port, streams } = await aServer(script, undefined, [action])
    const socket = connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => undefined)
    socket.pause()
    socket.write('{"action":"copy"}')
    const open = (): Promise<number> =>
      new Promise((resolve) => streams.server.getConnections((_, count) => resolve(count)))
    await expect.poll(open).toBe(1)
    fail.resolve({ ok: false, why: 'the client took nothing' })
    await expect.poll(open).toBe(0)
  })

  it('is ended when its client goes away', async () => {
    const endless = Array.from({ length: 10_000 }, () => 'x'.repeat(100_000))
    const { action, killed } = built(endless)
    const { port } = await aServer(script, undefined, [action])
    const socket = connect(port, '127.0.0.1')
    socket.write('{"action":"copy"}')
    await once(socket, 'data')
    socket.destroy()
    await expect.poll(() => killed).toEqual(['the client went away'])
  })
})

/** A load into a file, from a server that streams `dump`. */
async function aLoad(dump: string, load: string, more: Partial<LoadParts> = {}, server?: { readonly port: number }) {
  const folder = await mkdtemp(join(tmpdir(), 'lifecycle-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const { port } = server ?? (await aServer(bash('dataDump', dump)))
  const world = { groups: new ProcessGroups(testingPipes), timers: realWorld.timers }
  const loaded = loadReplica(
    'shop-mysql-1',
    { UID: 'load-1', remote: '127.0.0.1', port, parameters: { EXTRA: 'yes' } },
    {
      actions: new Map([['dataLoad', bash('dataLoad', load)]]),
      environment: { ...environment, FOLDER: folder },
      world,
      token: undefined,
      signal: new AbortController().signal,
      progress: () => undefined,
      ...more,
    },
  )
  return { loaded, folder, groups: world.groups }
}

describe('the load of a new replica', () => {
  it('gets every byte of the dump, counted and checked', async () => {
    const { loaded, folder } = await aLoad(
      'head -c 30000000 /dev/urandom | tee >(sha256sum | cut -d" " -f1 > /tmp/lifecycle-sum-$PPID)',
      'cat > $FOLDER/data; echo -n "$EXTRA $KB_TARGET_POD_NAME" > $FOLDER/done',
    )
    expect(await loaded).toEqual({ bytes: 30_000_000, checked: 'all' })
    const data = await readFile(join(folder, 'data'))
    const sum = (await readFile(`/tmp/lifecycle-sum-${process.pid}`, 'utf8')).trim()
    await rm(`/tmp/lifecycle-sum-${process.pid}`)
    expect(createHash('sha256').update(data).digest('hex')).toBe(sum)
    expect(await readFile(join(folder, 'done'), 'utf8')).toBe('yes shop-mysql-1')
  })

  it('is killed before the end of its input when the dump fails half-way', async () => {
    const { loaded, folder } = await aLoad(
      'head -c 1000000 /dev/zero; exit 3',
      'cat > $FOLDER/data; touch $FOLDER/done',
    )
    await expect(loaded).rejects.toThrow(
      'dataLoad failed: its data is not whole: the source failed: it ended with exit code 3',
    )
    await expect(stat(join(folder, 'done'))).rejects.toThrow('ENOENT')
  })

  it('is killed before the end of its input when the worker itself is killed', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'lifecycle-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const actionsRoom = join(import.meta.dirname, '..', 'actions')
    const script = `
      import { Pipes } from '${actionsRoom}/pipes.ts'
      import { ProcessGroups } from '${actionsRoom}/process-groups.ts'
      const load = 'echo $$ > $FOLDER/pid; cat > $FOLDER/data; touch $FOLDER/done'
      const command = { argv: ['bash', '-c', load], environment: process.env }
      new ProcessGroups(Pipes.open()).start(command, 'input').input.write('half')`
    const worker = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, FOLDER: folder },
    })
    const contentOf = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '')
    await expect.poll(() => contentOf(join(folder, 'data'))).toBe('half')
    worker.kill('SIGKILL')
    const ofLoad = `/proc/${(await contentOf(join(folder, 'pid'))).trim()}/stat`
    // Gone, or a zombie that nobody has reaped yet.
    await expect.poll(async () => (await contentOf(ofLoad)).split(') ')[1]?.[0] ?? 'Z').toBe('Z')
    expect((await readdir(folder)).sort()).toEqual(['data', 'pid'])
  })

  it('takes the plain stream of a server of KubeBlocks, unchecked', async () => {
    const kubeblocks = createServer(
      (socket) => void socket.once('data', () => socket.end('REGENT-STREAM/1 of another')),
    )
    kubeblocks.listen(0, '127.0.0.1')
    await once(kubeblocks, 'listening')
    onTestFinished(() => void kubeblocks.close())
    const { loaded, folder } = await aLoad('', 'cat > $FOLDER/data', {}, kubeblocks.address() as AddressInfo)
    expect(await loaded).toEqual({ bytes: 26, checked: 'nothing' })
    expect(await readFile(join(folder, 'data'), 'utf8')).toBe('REGENT-STREAM/1 of another')
  })

  it('fails at a frame that is longer than any, and does not wait for that from a server that goes on saying nothing', async () => {
    const hostile = createServer((socket) => {
      socket.on('error', () => undefined)
      onTestFinished(() => void socket.destroy())
      socket.once('data', (request: Buffer) => {
        const { framing } = JSON.parse(request.toString()) as { readonly framing: string }
        socket.write(Buffer.concat([Buffer.from(preambleOf(framing)), Buffer.alloc(4, 0xff)]))
      })
    })
    hostile.listen(0, '127.0.0.1')
    await once(hostile, 'listening')
    onTestFinished(() => void hostile.close())
    const why = 'a frame of 4294967295 bytes is longer than any'
    const { loaded, folder, groups } = await aLoad('', 'cat > $FOLDER/data', {}, hostile.address() as AddressInfo)
    await expect(loaded).rejects.toThrow(`dataLoad failed: its data is not whole: ${why}`)
    expect(groups.running).toBe(0)
    const dataDir = join(folder, 'data-dir')
    const builtIn = await aLoad('', '', { actions: new Map(), dataDir }, hostile.address() as AddressInfo)
    await expect(builtIn.loaded).rejects.toThrow(`dataLoad failed: ${why}`)
    expect(await readdir(dataDir, { recursive: true })).toEqual([
      'regent-load.partial',
      'regent-load.partial/unfinished.txt',
    ])
  })

  it.each([
    ['fails', 'cat > /dev/null; echo -n why >&2; exit 4', 60, 'it ended with exit code 4, stderr: why'],
    ['does not read to the end', 'head -c 10', 60, 'it ended with exit code 0 before it had read all of its input'],
    ['takes too long', 'sleep 60 & wait', 1, 'it took longer than 1 s'],
  ])('fails when its command %s', async (_what, script, timeoutSeconds, message) => {
    const actions = new Map([['dataLoad', bash('dataLoad', script, { timeoutSeconds })]])
    const { loaded, groups } = await aLoad('head -c 1000000 /dev/zero', '', { actions })
    await expect(loaded).rejects.toThrow(`dataLoad failed: ${message}`)
    expect(groups.running).toBe(0)
  })

  it('fails with the address when nobody listens, or the source refuses', async () => {
    const { loaded } = await aLoad('', 'cat', {}, { port: 1 })
    await expect(loaded).rejects.toThrow('127.0.0.1:1 cannot be reached: connect ECONNREFUSED 127.0.0.1:1')
    const server = await aServer(bash('dataDump', 'echo x'), 'the-token-of-the-test')
    const refused = await aLoad('', 'cat > $FOLDER/data', {}, server)
    await expect(refused.loaded).rejects.toThrow('the source ended the connection without a byte')
    const allowed = await aLoad('', 'cat > $FOLDER/data', { token: 'the-token-of-the-test' }, server)
    expect(await allowed.loaded).toEqual({ bytes: 2, checked: 'all' })
    const long = await aLoad('', 'cat > $FOLDER/data', { token: 'x'.repeat(4_096) }, server)
    await expect(long.loaded).rejects.toThrow('the request for dataDump has more than 4096 bytes')
  })
})

it('The end of a request is found wherever it is cut, and what is no object is refused', () => {
  const objects = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue())
  fc.assert(
    fc.property(objects, fc.string({ maxLength: 5 }), fc.nat(50), (value, after, cut) => {
      const text = Buffer.from(` ${JSON.stringify(value)}`)
      const bytes = Buffer.concat([text, Buffer.from(after)])
      const [scanner, first] = [new ObjectEnd(), bytes.subarray(0, cut)]
      const end = scanner.find(first) ?? (scanner.find(bytes.subarray(cut)) ?? NaN) + first.length
      expect(end).toBe(text.length)
    }),
  )
  for (const text of ['[]', '"{"', '7', 'x', '}']) expect(() => new ObjectEnd().find(Buffer.from(text))).toThrow()
})
