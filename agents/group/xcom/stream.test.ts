import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Timer } from '#common/ports/ports.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { XcomConnection } from './connection.ts'
import { encodeVersionRequest } from './encode.ts'
import { operations } from './messages.ts'
import { answerBody, framedAs } from './testing.ts'
import { errorPacket, okPacket, PlayedLogin } from './testing-login.ts'
import { patienceMs } from '#test/support/patience.ts'

const { timers } = realWorld
const stack = { kind: 'mysql', user: 'streaming', password: 'a password of tests only', tls: null } as const
const version = framedAs(Buffer.alloc(0), { type: 2 })
const reply = framedAs(answerBody({ operation: operations.clientReply }))
let server: PlayedLogin

beforeEach(async () => {
  server = await PlayedLogin.start()
})

afterEach(() => server.stop())

const open = () => XcomConnection.open(server.address, stack, timers, patienceMs)

describe('A server whose own port carries the stream of the group', () => {
  it('is logged in to, asked for the stream by command 0x21, and speaks XCom from its OK on', async () => {
    const heard: Buffer[] = []
    server.afterwards = (socket) => {
      socket.on('data', (chunk: Buffer) => {
        heard.push(chunk)
        socket.write(heard.length === 1 ? version : reply)
      })
    }
    const connection = await open()
    expect(await connection.state(patienceMs)).toMatchObject({ answer: 'ok' })
    expect(server.commands).toEqual([Buffer.from([0x21])])
    expect(heard[0]).toEqual(encodeVersionRequest())
    connection.close()
    await expect.poll(() => server.open).toBe(0)
  })

  it('may send what follows together with its OK', async () => {
    server.answer = () => okPacket
    server.afterwards = (socket) => socket.write(version)
    const connection = await open()
    expect(connection.isOpen).toBe(true)
    connection.close()
  })

  it('is asked again while it hands over another connection', async () => {
    server.answer = () => (server.commands.length < 4 ? errorPacket(6141, 'handoff is busy') : okPacket)
    server.afterwards = (socket) => socket.once('data', () => socket.write(version))
    const connection = await open()
    expect(server.commands).toHaveLength(4)
    connection.close()
    await expect.poll(() => server.open).toBe(0)
  })

  it('is not asked for longer than the deadline, be it busy for ever', async () => {
    server.answer = () => errorPacket(6141, 'handoff is busy')
    /** The deadline comes once it was asked twice, however long the machine needs for that. */
    const after = (_ms: number, task: () => void): Timer => {
      const looking = timers.every(5, () => {
        if (server.commands.length < 2) return
        looking.cancel()
        task()
      })
      return looking
    }
    const opening = XcomConnection.open(server.address, stack, { ...timers, after }, 1_000)
    await expect(opening).rejects.toThrow(/no connection within 1000 ms/)
    expect(server.commands.length).toBeGreaterThan(1)
    await expect.poll(() => server.open).toBe(0)
  })

  it.each([
    [errorPacket(1227, 'Access denied'), /Access denied \(1227\); the account needs GROUP_REPLICATION_STREAM/],
    [errorPacket(1047, 'Unknown command'), /Unknown command \(1047\)/],
    [Buffer.from([0xfe]), /neither OK nor an error/],
    [Buffer.from([0xff, 1]), /neither OK nor an error/],
    [Buffer.alloc(0), /neither OK nor an error/],
    [Buffer.alloc(5_000), /announces an answer of 5004 bytes/],
  ])('is told of where it answers otherwise, and nothing stays open', async (answer, why) => {
    server.answer = () => answer
    await expect(open()).rejects.toThrow(
      expect.objectContaining({ code: 'REGENT_SERVER_ERROR', message: expect.stringMatching(why) as string }),
    )
    expect(server.commands).toHaveLength(1)
    await expect.poll(() => server.open).toBe(0)
  })

  it('is told of where it hangs up after the command', async () => {
    server.afterwards = (socket) => socket.destroy()
    server.answer = () => Buffer.alloc(0)
    await expect(open()).rejects.toThrow(/127\.0\.0\.1/)
  })
})
