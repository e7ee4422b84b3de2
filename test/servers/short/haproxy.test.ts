import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { expect, it, onTestFinished, vi } from 'vitest'
import { routerSettings } from '#failover/protocol/router-settings.ts'
import { gate, nowhere, primarySlot, readSlot, readSlotsOf, stepsBetween, type Slot } from '#router/haproxy-state.ts'
import { refusalsIn } from '#router/commands.ts'
import type { Haproxy } from '#router/haproxy.ts'
import { Router } from '#router/router.ts'
import { freePort } from '#test/support/free-port.ts'
import { patienceMs } from '#test/support/patience.ts'
import { realHaproxy } from '#test/support/real-haproxy.ts'

const waiting = { timeout: patienceMs }

it('HAProxy takes every command that a router gives, again too, and none of its answers is taken for a refusal', async () => {
  const { haproxy } = await realHaproxy()
  const at = (host: string): Slot => ({ host, port: 3306, state: 'ready', weight: 100 })
  const slots = new Map<string, Slot>([
    [gate, { ...at(nowhere.host), port: nowhere.port }],
    [primarySlot, at('10.0.0.1')],
    [readSlot(0), { ...at('10.0.0.1'), state: 'drain', weight: 50 }],
    [readSlot(15), { ...at('fd00::7'), state: 'maint' }],
  ])
  const steps = stepsBetween(new Map(), slots)
  expect(steps.flat()).toHaveLength(16)
  for (const commands of [...steps, ...steps]) expect(refusalsIn(commands, await haproxy.tell(commands))).toEqual([])
  const is = readSlotsOf(await haproxy.tell(['show servers state']))
  for (const [name, slot] of slots) expect(is.get(name)).toEqual(slot)
  const ported = [`set server ${primarySlot} addr 10.0.0.1 port 3406`]
  expect(refusalsIn(ported, await haproxy.tell(ported))).toEqual([])
})

it.each([
  ['set server primary/none state ready', 'No such server.'],
  ['set server none/primary state ready', 'No such backend.'],
  ['shutdown sessions server primary/none', 'No such server.'],
  ['set server primary/primary addr none port 3306', "Invalid addr 'none'"],
  ['set server primary/primary weight 300', 'Absolute weight can only be between 0 and 256 inclusive.'],
  ['set server primary/primary state none', "'set server <srv> state' expects 'ready', 'drain' and 'maint'."],
  ['lead me', "Unknown command: 'lead', but maybe one of the following ones is a better match:"],
])('The refusal of "%s" is found among the answers of other commands, in HAProxy’s words', async (command, words) => {
  const { haproxy } = await realHaproxy()
  const others = ['set server primary/primary addr 10.0.0.3 port 3306', 'set server gate/open state ready']
  for (const commands of [
    [command],
    [command, ...others],
    [...others, command],
    [others[0] ?? '', command, others[0] ?? ''],
  ])
    expect(refusalsIn(commands, await haproxy.tell(commands))).toEqual([{ command, words }])
  const unprivileged = ['user', 'set server gate/open state ready']
  expect(refusalsIn(unprivileged, await haproxy.tell(unprivileged))).toEqual([
    { command: unprivileged[1], words: 'Permission denied' },
  ])
})

it('An HAProxy that has no server for the primary is not led, says why, and is started again after some tries', async () => {
  const told: string[] = []
  const { haproxy, logged } = await realHaproxy({
    edited: (config) =>
      config.replace('  server primary 127.0.0.1:1 weight 100\n', '  server other 127.0.0.1:1 weight 100\n'),
  })
  const before = haproxy.pid
  const router = new Router({
    ...{ cluster: 'shop', settings: routerSettings({}), nowMs: () => performance.now(), proxy: haproxy },
    feed: { follow: () => () => undefined },
    memory: { highest: 0, note: () => undefined, forget: () => undefined },
    told: (sentence) => told.push(String(sentence)),
    warn: () => undefined,
  })
  for (let failures = 1; failures <= 5; failures += 1) {
    router.look()
    await vi.waitFor(() => expect(router.state.failures).toBe(failures), waiting)
    expect(router.ledAgoMs()).toBe(Infinity)
    expect(router.state.sentence).toBe(
      'sessions wait: HAProxy refuses "set server primary/primary addr 127.0.0.1 port 1": No such server.',
    )
  }
  await vi.waitFor(() => expect(logged).toHaveLength(3), waiting)
  expect(haproxy.pid).not.toBe(before)
  expect(told).toHaveLength(1)
})

/** A server that greets; stopped, so that the kernel throws away who asks for a connection while others wait. */
async function deafServer() {
  const port = await freePort()
  const program = `require('node:net').createServer((one) => one.end('hello')).listen({ port: ${port}, host: '127.0.0.1', backlog: 1 }, () => console.log('listens'))`
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  child.kill('SIGSTOP')
  const isTaken = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect({ host: '127.0.0.1', port })
      onTestFinished(() => void socket.destroy())
      socket.on('error', () => undefined)
      socket.once('connect', () => resolve(true))
      setTimeout(() => resolve(false), 300)
    })
  while (await isTaken());
  return { port, listens: () => child.kill('SIGCONT') }
}

it('A connection whose first packets are lost is no refusal: HAProxy begins anew until one arrives', async () => {
  const { haproxy, writePort } = await realHaproxy()
  const server = await deafServer()
  const answer = await haproxy.tell([
    `set server primary/primary addr 127.0.0.1 port ${server.port}`,
    'set server gate/open state ready',
  ])
  expect(answer).toContain('port changed')
  const client = connect({ host: '127.0.0.1', port: writePort })
  const greeting = once(client, 'data')
  await vi.waitFor(async () => expect(await retriesOf(haproxy)).toBeGreaterThan(1), waiting)
  server.listens()
  expect(String(await greeting)).toBe('hello')
})

async function retriesOf(haproxy: Haproxy): Promise<number> {
  const [head = '', ...rows] = (await haproxy.tell(['show stat'])).split('\n')
  const row = rows.find((line) => line.startsWith('primary,BACKEND,'))
  return Number(row?.split(',')[head.replace('# ', '').split(',').indexOf('wretr')])
}

it.each([true, false])(
  'With logSessions %s a session has a line with the client’s address, or none',
  async (logSessions) => {
    const { haproxy, writePort, output } = await realHaproxy({ settings: { logSessions, waitMs: 0 } })
    const server = createServer((one) => one.write('hello'))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const lines = async () => (await readFile(output, 'utf8')).split('\n').filter((line) => line !== '')
    const open = async () => {
      const client = connect({ host: '127.0.0.1', port: writePort })
      onTestFinished(() => void client.destroy())
      await once(client, 'data')
      return `127.0.0.1:${client.localPort}`
    }
    const refused = await open()
    await haproxy.tell([`set server primary/primary addr 127.0.0.1 port ${port}`, 'set server gate/open state ready'])
    const accepted = once(server, 'connection')
    const led = await open()
    const [seen] = (await accepted) as [Socket]
    if (!logSessions) return expect(await lines()).toEqual([])
    await vi.waitFor(async () => expect(await lines()).toHaveLength(2), waiting)
    const logged = (await lines()).map((line) => JSON.parse(line) as Record<string, string>)
    expect(logged).toMatchObject([
      {
        name: 'haproxy',
        level: 'info',
        client: refused,
        at: 'writes',
        msg: `session of client ${refused} at writes: server -:-, which sees -:-`,
      },
      {
        ...{ name: 'haproxy', level: 'info', client: led, at: 'writes', server: `127.0.0.1:${port}` },
        as: `127.0.0.1:${seen.remotePort}`,
        msg: `session of client ${led} at writes: server 127.0.0.1:${port}, which sees 127.0.0.1:${seen.remotePort}`,
      },
    ])
    expect(Date.parse(logged[0]?.['time'] ?? '')).toBeGreaterThan(Date.now() - 3_600_000)
  },
)
