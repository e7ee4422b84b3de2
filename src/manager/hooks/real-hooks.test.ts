import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Timers } from '#common/ports/ports.ts'
import { realTimers, realWorld } from '#common/ports/real-world.ts'
import { readProcessStat } from '#common/process/process-stat.ts'
import type { Hook } from '#failover/protocol/hook.ts'
import type { HookDocument } from '#failover/protocol/hook-document.ts'
import { expectBelow } from '#test/support/expect-below.ts'
import { patienceMs } from '#test/support/patience.ts'
import { realHooks } from './real-hooks.ts'
import { signatureOf } from './send-webhook.ts'

const told = {
  ...{ version: 1, test: false, moment: 'afterFailover', key: 'r.afterFailover.0', text: '', cluster: 'shop' },
  ...{ mode: 'semisync', automatic: true, successorGtids: '', manager: 'here', replicas: [], lostReplicas: [] },
  recovery: { id: 'r', kind: 'failover', outcome: 'succeeded', sentence: 'so', failureType: 'DeadPrimary' },
  ...{ failed: null, successor: { instance: 'shop-1', host: '10.0.0.2', port: 3306 } },
} as unknown as HookDocument

let folder = ''
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'regent-real-hooks-'))))
afterAll(() => rm(folder, { recursive: true }))

const run = (hook: Hook, secret: string | null = null) => realHooks(realWorld, async () => secret).run(hook, told)
const written = (name: string) => readFile(join(folder, name), 'utf8').catch(() => '')

async function until(what: string, look: () => Promise<boolean> | boolean): Promise<void> {
  for (const untilMs = performance.now() + patienceMs; !(await look());) {
    if (performance.now() > untilMs) throw new Error(`not in time: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** The first process of a container may leave those as zombies that have ended. */
function isThere(pid: number): boolean {
  return !['Z', 'X', undefined].includes(readProcessStat(pid)?.state)
}

/** A hook whose time goes on when the test says so: a busy machine may need longer than any deadline. */
function runByHand(hook: Hook) {
  let nowMs = 0
  const deadlines: { readonly ms: number; readonly task: () => void }[] = []
  const timers: Timers = {
    ...realTimers,
    after: (ms, task) => {
      const { timeoutMs = 0, retries = 0 } = hook
      // What is shorter than a try is no deadline.
      if (ms < timeoutMs / (retries + 1)) return realTimers.after(ms, task)
      deadlines.push({ ms, task })
      return { cancel: () => undefined }
    },
  }
  const clock = { ...realWorld.clock, monotonicMs: () => nowMs }
  return {
    end: realHooks({ clock, timers }, async () => null).run(hook, told),
    deadlines,
    /** The deadline of the latest try is reached. */
    reach: () => {
      const { ms = 0, task } = deadlines.at(-1) ?? {}
      nowMs += ms
      task?.()
    },
  }
}

describe('A program', () => {
  it('gets the document, variables and placeholders, and nothing of the manager’s environment', async () => {
    process.env['REGENT_SECRET_OF_MANAGER'] = 'x'
    onTestFinished(() => void delete process.env['REGENT_SECRET_OF_MANAGER'])
    const line = `cat > ${folder}/told; env > ${folder}/env; echo {successorHost} for "$ORC_SUCCESSOR_ALIAS"`
    expect(await run({ shell: line })).toEqual({ isDone: true, said: 'exit 0: 10.0.0.2 for shop-1' })
    expect(JSON.parse(await written('told'))).toEqual(told)
    expect(await written('env')).toMatch(/^REGENT_MOMENT=afterFailover$/m)
    expect(await written('env')).not.toContain('REGENT_SECRET_OF_MANAGER')
  })

  it('that fails says how, that is not there says so, and one that reads nothing is no trouble', async () => {
    expect(await run({ shell: 'echo out; echo why >&2; exit 3' })).toEqual({ isDone: false, said: 'exit 3: why' })
    expect(await run({ command: [join(folder, 'none')] })).toMatchObject({
      isDone: false,
      said: expect.stringContaining('does not exist') as string,
    })
    expect(await run({ command: ['true'] })).toEqual({ isDone: true, said: 'exit 0' })
  })

  it('is tried again as often as it may be', async () => {
    const shell = `echo x >> ${folder}/tries; test $(wc -l < ${folder}/tries) -ge 3`
    expect(await run({ shell, retries: 5 })).toEqual({ isDone: true, said: 'exit 0 (try 3)' })
    expect(await run({ shell: `echo x >> ${folder}/once; false` })).toMatchObject({ isDone: false })
    expect(await written('once')).toBe('x\n')
  })

  it('that hangs is ended with all that it started', async () => {
    const shell = `echo $$ > ${folder}/self; sleep 600 & echo $! > ${folder}/child; wait`
    const { end, reach } = runByHand({ shell, timeoutMs: 300, retries: 3 })
    await until('its child is there', async () => (await written('child')).endsWith('\n'))
    reach()
    expect(await end).toEqual({
      isDone: false,
      said: 'did not end within 300 ms, and was ended with all that it started',
    })
    for (const name of ['child', 'self']) await until(name, async () => !isThere(Number(await written(name))))
  })

  it('that this manager may not end, as one of sudo, has failed at its deadline, and the manager goes on', async () => {
    const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
      throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' })
    })
    const { end, reach } = runByHand({ shell: `echo $$ > ${folder}/own; exec sleep 600`, timeoutMs: 300 })
    onTestFinished(async () => {
      kill.mockRestore()
      process.kill(Number(await written('own')), 'SIGKILL')
    })
    await until('it runs', async () => (await written('own')).endsWith('\n'))
    reach()
    expect(await end).toEqual({ isDone: false, said: 'did not end within 300 ms, and cannot be ended: kill EPERM' })
  })

  it('ends at once where it leaves something behind, which is ended at the deadline', async () => {
    const shell = `sleep 600 & echo $! > ${folder}/left; exit 0`
    const { end, reach } = runByHand({ shell, timeoutMs: 2_000 })
    expect(await end).toMatchObject({ isDone: true })
    const left = Number(await written('left'))
    expect(isThere(left)).toBe(true)
    reach()
    await until('what was left is ended', () => !isThere(left))
  })

  it('may print 10 MB: the last line is kept', async () => {
    const before = process.memoryUsage().heapUsed
    const end = await run({ shell: `head -c 10000000 /dev/zero | tr '\\0' x; echo; echo last`, timeoutMs: patienceMs })
    expect(end).toEqual({ isDone: true, said: 'exit 0: last' })
    expectBelow(100_000_000, process.memoryUsage().heapUsed - before)
  })
})

interface Receiver {
  readonly url: string
  readonly letters: { readonly headers: IncomingMessage['headers']; readonly body: string }[]
}

/**
 * Answers with these, one after the other, and then with the last; null for silence, 0 for a broken connection, and
 * below 0 for an answer without an end.
 */
async function receiver(...statuses: readonly (number | null)[]): Promise<Receiver> {
  const letters: Receiver['letters'] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (part: string) => (body += part))
    request.on('end', () => {
      const status = statuses[Math.min(letters.length, statuses.length - 1)]
      letters.push({ headers: request.headers, body })
      if (status === 0) return request.destroy()
      if (status != null && status < 0) return void response.writeHead(-status).write('first line')
      if (status != null) response.writeHead(status).end('first line\nsecond')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/a?token=hidden`, letters }
}

describe('A webhook', () => {
  it('is signed over time and body, and carries one key', async () => {
    const { url, letters } = await receiver(200)
    expect(await run({ webhook: { url } }, 'the-secret')).toEqual({ isDone: true, said: 'status 200: first line' })
    const [{ headers, body } = { headers: {}, body: '' }] = letters
    expect(JSON.parse(body)).toEqual(told)
    const seconds = Number(/^t=(\d+),/.exec(String(headers['regent-signature']))?.[1])
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'idempotency-key': told.key,
      'regent-moment': 'afterFailover',
      'regent-signature': signatureOf('the-secret', body, seconds * 1_000),
    })
    expect(signatureOf('other', body, seconds * 1_000)).not.toBe(headers['regent-signature'])
    expect(signatureOf('the-secret', `${body} `, seconds * 1_000)).not.toBe(headers['regent-signature'])
  })

  it('is not signed without a secret', async () => {
    const { url, letters } = await receiver(204)
    expect(await run({ webhook: { url } })).toMatchObject({ isDone: true })
    expect(letters[0]?.headers).not.toHaveProperty('regent-signature')
  })

  it('is sent again after 5xx and after a broken connection, with the same key and body', async () => {
    const { url, letters } = await receiver(503, 0, 200)
    expect(await run({ webhook: { url } })).toEqual({ isDone: true, said: 'status 200: first line (try 3)' })
    expect(new Set(letters.map(({ headers, body }) => `${String(headers['idempotency-key'])} ${body}`)).size).toBe(1)
  })

  it('is not sent again where it is refused, and no redirect is followed', async () => {
    for (const status of [400, 404, 302]) {
      const { url, letters } = await receiver(status)
      expect(await run({ webhook: { url } })).toMatchObject({ isDone: false, said: `status ${status}: first line` })
      expect(letters).toHaveLength(1)
    }
  })

  it('that is not answered leaves time for another try, and ends at its deadline', async () => {
    const { url, letters } = await receiver(null)
    const { end, deadlines, reach } = runByHand({ webhook: { url }, retries: 1, timeoutMs: 1_000 })
    for (const tries of [1, 2]) {
      await until(`letter ${tries}`, () => letters.length === tries)
      reach()
    }
    const { isDone, said } = await end
    expect(isDone).toBe(false)
    expect(said).toContain('no answer within')
    expect(said).not.toContain('hidden')
    expect(letters).toHaveLength(2)
    expect(deadlines.map(({ ms }) => ms)).toEqual([500, 500])
  })

  it('that is taken is not sent again, though its answer never ends', async () => {
    const { url, letters } = await receiver(-200)
    const answered = Promise.withResolvers<unknown>()
    subscribe('http.client.response.finish', answered.resolve)
    onTestFinished(() => void unsubscribe('http.client.response.finish', answered.resolve))
    const { end, reach } = runByHand({ webhook: { url }, retries: 3, timeoutMs: 1_200 })
    await answered.promise
    // Its first line came with its status.
    await new Promise(setImmediate)
    reach()
    expect(await end).toEqual({ isDone: true, said: 'status 200: first line' })
    expect(letters).toHaveLength(1)
  })

  it('is not sent where its secret does not come in time', async () => {
    const { url, letters } = await receiver(200)
    const hooks = realHooks(realWorld, () => new Promise(() => undefined))
    const said = 'its secret could not be read within 100 ms'
    expect(await hooks.run({ webhook: { url }, timeoutMs: 100 }, told)).toEqual({ isDone: false, said })
    expect(letters).toEqual([])
  })

  it('is not sent where its secret cannot be read', async () => {
    const { url, letters } = await receiver(200)
    const hooks = realHooks(realWorld, async () => Promise.reject(new Error('the file is gone')))
    expect(await hooks.run({ webhook: { url } }, told)).toEqual({ isDone: false, said: 'the file is gone' })
    expect(letters).toEqual([])
  })
})
