import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bash, saidBy, testingActions } from '../testing.ts'
import type { Action, HttpAction } from '../wire/definitions.ts'
import { fillTemplate, unsupportedIn } from './template.ts'

async function aPage(
  answer: (request: IncomingMessage, body: string) => readonly [number, string] | undefined,
  afterMs = 0,
) {
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    const respond = (): void => {
      const answered = answer(request, body)
      if (answered?.[0] === 307) response.setHeader('location', answered[1] || '/moved')
      if (answered !== undefined) response.writeHead(answered[0]).end(answered[1])
    }
    request.on('end', () => (afterMs === 0 ? respond() : setTimeout(respond, afterMs)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return String((server.address() as AddressInfo).port)
}

async function call(http: HttpAction, request: object = {}, more: Partial<Action> = {}) {
  const { desk, http: caller } = testingActions([{ name: 'a', http, ...more }], { environment: { FROM_POD: 'pod' } })
  onTestFinished(() => caller.close())
  return desk.call({ action: 'a', ...request })
}

describe('an HTTP action', () => {
  it('gives the body of an answer that says yes, with templates of headers and body filled in', async () => {
    const port = await aPage((request, body) => [
      200,
      `${request.method} ${request.url} ${String(request.headers['x-a'])} ${request.headers.host} ${body}`,
    ])
    const http = {
      port,
      method: 'post',
      path: '/role?x=1',
      body: '{"pod":"{{ .POD }}","also":"{{.FROM_POD}}"}',
      headers: [{ name: 'X-A', value: 'to {{ .POD }}' }],
    }
    const parameters = { POD: 'shop-1' }
    expect(saidBy(await call(http, { parameters }))).toBe(
      `POST /role?x=1 to shop-1 127.0.0.1:${port} {"pod":"shop-1","also":"pod"}`,
    )
    expect(saidBy(await call({ port }))).toBe(`GET / undefined 127.0.0.1:${port} `)
  })

  it('sends the values of headers as UTF-8', async () => {
    const port = await aPage((request) => [200, Buffer.from(String(request.headers['x-a']), 'latin1').toString('utf8')])
    const http = { port, headers: [{ name: 'X-A', value: 'Größe {{ .WHAT }}' }] }
    expect(saidBy(await call(http, { parameters: { WHAT: '大' } }))).toBe('Größe 大')
  })

  it('fails with the status of an answer that says no', async () => {
    const port = await aPage(() => [503, 'not yet'])
    expect(await call({ port })).toEqual({
      ok: false,
      error: 'failed',
      message: 'http request failed, status: 503, body: not yet: failed',
    })
  })

  it('follows where it is sent', async () => {
    const port = await aPage(({ url, method }, body) => (url === '/moved' ? [200, `${method} ${body}`] : [307, '']))
    expect(saidBy(await call({ port, method: 'POST', body: 'x' }))).toBe('POST x')
  })

  it('is sent on ten times at most', async () => {
    let requests = 0
    const port = await aPage(() => {
      requests += 1
      return [307, `/${requests}`]
    })
    expect(saidBy(await call({ port }))).toMatch(/^http request failed, status: 307/)
    expect(requests).toBe(11)
  })

  it('is given up when its time is over, and fails where nobody listens', async () => {
    const port = await aPage(() => undefined)
    expect(await call({ port }, { timeoutSeconds: 1 })).toMatchObject({ error: 'timedOut' })
    expect(saidBy(await call({ port: '1' }))).toMatch(/^http request failed, error: .*ECONNREFUSED.*: failed$/)
  })

  it('may take as long as a caller can say, where nobody waits', async () => {
    const port = await aPage((_request, body) => [200, body], 50)
    const { runner, http: caller } = testingActions([])
    onTestFinished(() => caller.close())
    const action = { name: 'a', http: { port, method: 'POST', body: 'done' } }
    const result = await runner.run(action, { action: 'a', timeoutSeconds: 2_147_483_647 }, 'nonBlocking')
    expect(saidBy(result)).toBe('done')
  })

  it('fails for more output than is allowed', async () => {
    const port = await aPage(() => [200, 'x'.repeat(1_000_001)])
    expect(saidBy(await call({ port }))).toBe('the answer has more than 1000000 bytes; raise --max-output: failed')
  })

  it.each([
    [{ port: 'http' }, {}, 'badRequest', 'http.port is "http"; allowed is a number'],
    [{ port: '1', scheme: 'ftp' }, {}, 'badRequest', /make no http or https address: ftp:/],
    [{ port: '1', body: '{{ .MISSING }}' }, {}, 'badRequest', 'http.body: MISSING has no value'],
    [
      { port: '1', body: '{{ env "X" }}' },
      {},
      'notImplemented',
      /^http\.body: the template \{\{ env "X" \}\} is not supp/,
    ],
    [{ port: '1' }, { arguments: [['a']] }, 'badRequest', 'runtime arguments are only supported for exec actions'],
  ])('is refused: %j with %j is %s', async (http, request, error, message) => {
    const result = await call(http, request)
    expect(result).toMatchObject({ ok: false, error })
    if (typeof message === 'string') expect(saidBy(result)).toBe(`${message}: ${error}`)
    else expect(saidBy(result)).toMatch(message)
  })
})

it.each([
  ['request', { nonBlocking: true }, {}],
  ['action', {}, { nonBlocking: true }],
])(
  'An HTTP action with arguments is refused at once, also where its %s is non-blocking',
  async (_who, request, more) => {
    const result = await call({ port: '1' }, { ...request, arguments: [['a']] }, more)
    expect(saidBy(result)).toBe('runtime arguments are only supported for exec actions: badRequest')
  },
)

it('A gRPC action of a port without a number is refused', async () => {
  const { desk } = testingActions([{ name: 'a', grpc: { port: 'http', service: 's', method: 'm' } }])
  expect(saidBy(await desk.call({ action: 'a' }))).toBe('grpc.port is "http"; allowed is a number: badRequest')
})

describe('a template', () => {
  it.each([
    ['no template } { }}', 'no template } { }}'],
    ['{{.A}}{{ .B_1 }}', 'ab'],
    ['{"a":{"b":"{{ .A }}"}}', '{"a":{"b":"a"}}'],
  ])('is filled in: %s', (template, text) => {
    expect(fillTemplate(template, { A: 'a', B_1: 'b' })).toEqual({ text })
  })

  it.each(['{{- .A }}', '{{ .A | quote }}', '{{ if .A }}x{{ end }}', '{{ .A.B }}', '{{ $x }}', '{{ .A', '{{}}'])(
    'is refused by name where Go’s template language says more: %s',
    (template) => {
      expect(unsupportedIn(template)).toContain(template.slice(0, 5))
    },
  )
})

describe('a reconfigure action', () => {
  async function aFile(): Promise<{ file: string; digest: string }> {
    const folder = await mkdtemp(join(tmpdir(), 'lifecycle-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const file = join(folder, 'my.cnf')
    await writeFile(file, '[mysqld]\n')
    return { file, digest: createHash('sha256').update('[mysqld]\n').digest('hex') }
  }

  const run = (name: string, parameters: Readonly<Record<string, string>>) =>
    testingActions([bash(name, 'echo -n done')]).desk.call({ action: name, parameters })

  it.each(['reconfigure', 'udf-reconfigure-my'])(
    'runs once the files are as the caller knows them: %s',
    async (name) => {
      const { file, digest } = await aFile()
      const parameters = {
        KB_CONFIG_FILES_CREATED: file,
        KB_CONFIG_FILES_REMOVED: `${file}.old,${file}.older`,
        KB_CONFIG_FILES_UPDATED: `${file}:${digest.toUpperCase()}`,
      }
      expect(saidBy(await run(name, parameters))).toBe('done')
      expect(saidBy(await run(name, {}))).toBe('done')
    },
  )

  it('waits until a ConfigMap has come into the pod', async () => {
    const { file, digest } = await aFile()
    const other = '0'.repeat(64)
    const refused = async (parameters: Readonly<Record<string, string>>) => saidBy(await run('reconfigure', parameters))
    expect(await refused({ KB_CONFIG_FILES_CREATED: `${file}.new` })).toBe(
      `file ${file}.new is not there yet: preconditionFailed`,
    )
    expect(await refused({ KB_CONFIG_FILES_REMOVED: file })).toBe(`file ${file} is still there: preconditionFailed`)
    expect(await refused({ KB_CONFIG_FILES_UPDATED: `${file}:${other}` })).toBe(
      `file ${file} has not its new content yet: sha256 ${digest}, not ${other}: preconditionFailed`,
    )
    expect(await refused({ KB_CONFIG_FILES_UPDATED: `${file}.new:${other}` })).toMatch(/not there yet: precond/)
    expect(await refused({ KB_CONFIG_FILES_UPDATED: file })).toMatch(/is not file:sha256: badRequest$/)
    expect(await refused({ KB_CONFIG_FILES_UPDATED: `${file}:${digest},` })).toMatch(
      /"" is not file:sha256: badRequest$/,
    )
  })

  it('that is non-blocking says so at each call, and keeps no result of that', async () => {
    const { file } = await aFile()
    const { desk } = testingActions([bash('reconfigure', 'echo -n done', { nonBlocking: true })])
    const ask = async () =>
      saidBy(await desk.call({ action: 'reconfigure', parameters: { KB_CONFIG_FILES_CREATED: `${file}.new` } }))
    expect([await ask(), await ask()]).toEqual(Array(2).fill(`file ${file}.new is not there yet: preconditionFailed`))
    await writeFile(`${file}.new`, '')
    expect(await ask()).toBe('inProgress')
    await expect.poll(ask).toBe('done')
  })

  it('is no other action', async () => {
    expect(saidBy(await run('switchover', { KB_CONFIG_FILES_CREATED: '/missing' }))).toBe('done')
  })
})
