import { createServer, type AddressInfo, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { parseRedisAddress } from './redis-address.ts'
import { RedisConnection } from './redis-connection.ts'

/** A Redis that answers nothing to a command that `silent` names, and as little as a client needs to all others. */
async function redisSilentAt(silent: RegExp): Promise<RedisConnection> {
  const info = 'redis_version:8.0.0\r\nloading:0\r\n'
  const answerTo = (command: string): string => {
    if (/\binfo\b/i.test(command)) return `$${info.length}\r\n${info}\r\n`
    return /\bid\b/i.test(command) ? ':1\r\n' : '+OK\r\n'
  }
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined))
    socket.on('data', (data) => {
      for (const command of data.toString().split(/(?=\*\d+\r\n)/))
        if (!silent.test(command)) socket.write(answerTo(command.replace(/[^a-z]+/gi, ' ')))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const connection = new RedisConnection(parseRedisAddress(`redis://127.0.0.1:${port}`), {
    deadlineMs: 200,
    allowVolatile: true,
  })
  onTestFinished(() => connection.close())
  return connection
}

it.each([
  ['a command', /get/],
  ['the first command of a connection', /info/],
  ['the second command of a connection', /\bid\b/i],
])('A Redis that does not answer %s is told in one way, whichever deadline ends first', async (_, silent) => {
  const connection = await redisSilentAt(silent)
  const asked = connection.run(new AbortController().signal, (client) => client.get('record'))
  await expect(asked).rejects.toThrow(/^no answer within 200 ms$/)
})
