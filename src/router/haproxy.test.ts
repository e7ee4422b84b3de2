import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { Haproxy } from './haproxy.ts'

/** Answers `show info` at the socket that stands in the configuration, as HAProxy does. */
const fake = `
const { readFileSync } = require('node:fs')
const { createServer } = require('node:net')
const socket = readFileSync(process.argv.at(-1), 'utf8').trim()
if (process.env.MUTE === undefined) createServer((one) => one.once('data', () => one.end('Pid: ' + process.pid + '\\n'))).listen(socket)
setInterval(() => undefined, 1_000)
`

it('An HAProxy from before that does not answer is ended first: two would share the sessions of one address', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'haproxy-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const files = { config: join(folder, 'haproxy.cfg'), script: join(folder, 'x.lua'), socket: join(folder, 'socket') }
  const program = join(folder, 'fake.cjs')
  await writeFile(program, fake)
  await writeFile(files.config, files.socket)
  const before = spawn(process.execPath, [program, '-q', '-db', '-f', files.config], {
    ...{ stdio: 'ignore', env: { MUTE: 'yes' } },
  })
  const ended = once(before, 'exit')
  await once(before, 'spawn')
  const began: string[] = []
  const haproxy = new Haproxy({
    ...{ argv: [process.execPath, program], files, config: files.socket, script: '' },
    log: (sentence) => began.push(String(sentence)),
    failed: (sentence) => began.push(String(sentence)),
    began: () => began.push('began'),
  })
  onTestFinished(() => haproxy.stop())
  onTestFinished(() => void before.kill('SIGKILL'))
  await haproxy.start()
  expect(began.at(-1)).toBe('began')
  expect(haproxy.pid).not.toBe(before.pid)
  expect(before.signalCode ?? before.exitCode).not.toBeNull()
  await ended
})

it('An HAProxy whose router is told to stop while it begins is not started after that', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'haproxy-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const files = { config: join(folder, 'haproxy.cfg'), script: join(folder, 'x.lua'), socket: join(folder, 'socket') }
  const program = join(folder, 'fake.cjs')
  await writeFile(program, fake)
  const began: string[] = []
  const haproxy = new Haproxy({
    ...{ argv: [process.execPath, program], files, config: files.socket, script: '' },
    log: (sentence) => began.push(String(sentence)),
    failed: (sentence) => began.push(String(sentence)),
    began: () => began.push('began'),
  })
  const starting = haproxy.start()
  await haproxy.stop()
  const atEnd = haproxy.pid
  await starting
  onTestFinished(() => haproxy.stop())
  expect(atEnd, 'stopped with the router').toBe(haproxy.pid)
  expect(began).not.toContain('began')
})

it('Each try to start an HAProxy that does not start is over before the next: no try is remembered', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'haproxy-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const files = { config: join(folder, 'haproxy.cfg'), script: join(folder, 'x.lua'), socket: join(folder, 'socket') }
  const { stackTraceLimit } = Error
  onTestFinished(() => void (Error.stackTraceLimit = stackTraceLimit))
  Error.stackTraceLimit = 100
  const waiting: number[] = []
  const haproxy = new Haproxy({
    ...{ argv: ['/bin/false'], files, config: '', script: '' },
    log: () => undefined,
    failed: () => waiting.push(new Error('here').stack?.match(/#launch /g)?.length ?? 0),
    began: () => undefined,
  })
  const starting = haproxy.start()
  await vi.waitFor(() => expect(waiting.length).toBeGreaterThanOrEqual(3), { timeout: 60_000 })
  await haproxy.stop()
  await starting
  expect(new Set(waiting), 'those that wait for their next').toEqual(new Set([1]))
})

it('An HAProxy that ends as soon as it has answered is started again after a pause, not without an end', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'haproxy-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const files = { config: join(folder, 'haproxy.cfg'), script: join(folder, 'x.lua'), socket: join(folder, 'socket') }
  const [program, starts] = [join(folder, 'fake.cjs'), join(folder, 'starts')]
  await writeFile(program, fake.replace("process.pid + '\\n')", "process.pid + '\\n', () => process.exit())"))
  const began: number[] = []
  const haproxy = new Haproxy({
    argv: [
      'sh',
      '-c',
      `date +%s%3N >> ${starts}; rm -f ${files.socket}; exec ${process.execPath} ${program} "$@"`,
      'sh',
    ],
    ...{ files, config: files.socket, script: '', log: () => undefined, failed: () => undefined },
    began: () => began.push(Date.now()),
  })
  onTestFinished(() => haproxy.stop())
  await haproxy.start()
  // Not every try is seen to answer before its end: each answer is compared with the next start, whichever that is.
  const pauses = async () => {
    const started = (await readFile(starts, 'utf8')).trim().split('\n').map(Number)
    return began.flatMap((ms) => started.find((one) => one >= ms) ?? []).map((ms, at) => ms - (began[at] ?? 0))
  }
  await vi.waitFor(async () => expect((await pauses()).length).toBeGreaterThanOrEqual(2), { timeout: 60_000 })
  expect(Math.min(...(await pauses())), 'ms between an answer and the next start').toBeGreaterThanOrEqual(900)
})
