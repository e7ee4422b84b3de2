import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '#local/testing.ts'
import { exchange } from './runtime-socket.ts'

/** A runtime socket of an HAProxy that answers each connection in this way. */
async function aSocket(answers: (connection: Socket) => void): Promise<string> {
  const path = join(await temporaryFolder(), 'socket')
  const connections = new Set<Socket>()
  const server = createServer((connection) => {
    connections.add(connection)
    connection.on('error', () => undefined)
    connection.once('data', () => answers(connection))
  })
  server.listen(path)
  await once(server, 'listening')
  onTestFinished(() => {
    for (const connection of connections) connection.destroy()
    server.close()
  })
  return path
}

/** Says something again and again. */
function repeat(connection: Socket, part: string): void {
  const timer = setInterval(() => connection.write(part), 1)
  connection.on('close', () => clearInterval(timer))
}

describe('A question to HAProxy', () => {
  it('gets the whole of a long answer', async () => {
    const answer = `${'x'.repeat(99)}\n`.repeat(2_000)
    const path = await aSocket((connection) => connection.end(answer))
    expect(await exchange(path, 'show stat\n', { withinMs: 60_000 })).toBe(answer)
  })

  it.each<[string, (connection: Socket) => void]>([
    ['says nothing', () => undefined],
    ['says a little again and again', (connection) => repeat(connection, 'x')],
  ])('is over at its deadline where HAProxy %s', async (_, answers) => {
    const path = await aSocket(answers)
    await expect(exchange(path, 'show stat\n', { withinMs: 500 })).rejects.toThrow('no whole answer within 500 ms')
  })

  it('is over where the answer has no end: no answer fills the memory', async () => {
    const path = await aSocket((connection) => repeat(connection, 'x'.repeat(1_000)))
    const asked = exchange(path, 'show stat\n', { withinMs: 60_000, longest: 5_000 })
    await expect(asked).rejects.toThrow('the answer has more than 5000 characters')
  })

  it('is over where nobody listens', async () => {
    const path = join(await temporaryFolder(), 'socket')
    await expect(exchange(path, 'show stat\n', { withinMs: 60_000 })).rejects.toMatchObject({ code: 'REGENT_SYSTEM' })
  })
})
