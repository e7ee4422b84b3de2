import { createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { XcomConnection } from './connection.ts'
import { operations } from './messages.ts'
import { aConfiguration, aMember, answerBody, framedAs, groupId, PlayedMember } from './testing.ts'
import { patienceMs } from '#test/support/patience.ts'

const stack = { kind: 'xcom', tls: null } as const
const { timers } = realWorld
let member: PlayedMember
const opened: XcomConnection[] = []

beforeEach(async () => {
  member = await PlayedMember.start()
  member.configurations = [aConfiguration([aMember(1), aMember(2)])]
})

afterEach(async () => {
  for (const connection of opened.splice(0)) connection.close()
  await member.stop()
})

async function open(deadlineMs = 2_000, address = member.address): Promise<XcomConnection> {
  const connection = await XcomConnection.open(address, stack, timers, deadlineMs)
  opened.push(connection)
  return connection
}

const failing = (code: string, why: RegExp) =>
  expect.objectContaining({ code, message: expect.stringMatching(why) as string }) as Error

describe('A connection to a member', () => {
  it('agrees on version 10, and asks one question after the other', async () => {
    const connection = await open()
    const state = connection.state(patienceMs)
    const snapshot = connection.snapshot({ group: groupId, message: 50n, node: 1 }, patienceMs)
    const removal = connection.remove(groupId, aMember(1), patienceMs)
    expect(await state).toMatchObject({ answer: 'ok', delivered: { group: groupId, message: 50n }, eventHorizon: 10 })
    expect((await snapshot).configurations).toEqual(member.configurations)
    expect(await removal).toBe('ok')
    expect(member.asked.map((question) => (typeof question === 'string' ? question : 'removal'))).toEqual([
      'version',
      'state',
      'snapshot',
      'removal',
    ])
  })

  it('hears its answers among messages that nobody asked for', async () => {
    const noise = framedAs(answerBody({ operation: 8 }))
    member.answer = (question) => Buffer.concat([member.usual(question), ...(question === 'version' ? [] : [noise])])
    const connection = await open()
    for (let asked = 0; asked < 3; asked++) expect(await connection.state(patienceMs)).toMatchObject({ answer: 'ok' })
  })

  it.each([9, 11, 0])('is refused where the member speaks version %i', async (version) => {
    member.answer = () => framedAs(Buffer.alloc(0), { type: 2, version })
    await expect(open()).rejects.toThrow(failing('REGENT_GROUP_PROTOCOL', new RegExp(`version ${version} `)))
  })

  it('is refused where the member says nothing, in time, and leaves nothing open', async () => {
    member.answer = () => null
    await expect(open(50)).rejects.toThrow(failing('REGENT_SERVER_TIMEOUT', /no connection within 50 ms/))
    await expect.poll(() => member.open).toBe(0)
  })

  it('is refused where nobody listens, and where the address is none', async () => {
    const { address } = member
    await member.stop()
    await expect(open(2_000, address)).rejects.toThrow(failing('REGENT_SERVER_DOWN', /ECONNREFUSED/))
    await expect(open(2_000, 'nowhere')).rejects.toThrow(failing('REGENT_GROUP_PROTOCOL', /no address/))
    member = await PlayedMember.start()
  })

  it('ends with a question that is not answered in time, and everything that waits with it', async () => {
    const connection = await open()
    member.answer = () => null
    const late = connection.state(50)
    const next = connection.state(patienceMs)
    await expect(late).rejects.toThrow(failing('REGENT_SERVER_TIMEOUT', /no answer within 50 ms/))
    await expect(next).rejects.toThrow(failing('REGENT_SERVER_TIMEOUT', /no answer within 50 ms/))
    expect(connection.isOpen).toBe(false)
    await expect(connection.state(50)).rejects.toThrow(failing('REGENT_SERVER_TIMEOUT', /within 50 ms/))
    await expect.poll(() => member.open).toBe(0)
  })

  it('tells of its end without throwing at anybody', async () => {
    const connection = await open()
    member.cut()
    expect(await connection.closed).toMatchObject({ code: 'REGENT_SERVER_DOWN' })
    await expect(connection.state(50)).rejects.toThrow(failing('REGENT_SERVER_DOWN', /closed/))
  })

  it.each([
    ['no XCom', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'), /no stream of XCom/],
    [
      'an answer cut short',
      framedAs(answerBody({ operation: operations.clientReply }).subarray(0, 120)),
      /cannot be read/,
    ],
    ['an answer that is too large', framedAs(answerBody({ operation: 22 }), { length: 1_000_000 }), /at most/],
    ['another version', framedAs(Buffer.alloc(0), { type: 2 }), /versions again/],
    ['a snapshot for a state', framedAs(answerBody({ operation: operations.snapshot })), /none that this client knows/],
  ])('ends where the member answers with %s, and names it', async (_, answer, why) => {
    const connection = await open()
    member.answer = () => answer
    await expect(connection.state(patienceMs)).rejects.toThrow(failing('REGENT_GROUP_PROTOCOL', why))
    expect((await connection.closed).message).toContain(member.address)
    await expect.poll(() => member.open).toBe(0)
  })

  it('ends where an answer comes to no question', async () => {
    member.answer = (question) => Buffer.concat([member.usual(question), member.usual('state')])
    const connection = await open()
    expect(await connection.closed).toMatchObject({ code: 'REGENT_GROUP_PROTOCOL' })
  })

  it('ends where kinds of answers are exchanged', async () => {
    member.answer = (question) =>
      member.usual(question === 'state' ? 'snapshot' : question === 'snapshot' ? 'state' : question)
    await expect((await open()).state(patienceMs)).rejects.toThrow(failing('REGENT_GROUP_PROTOCOL', /with a snapshot/))
    const asking = (await open()).snapshot({ group: groupId, message: 1n, node: 0 }, patienceMs)
    await expect(asking).rejects.toThrow(failing('REGENT_GROUP_PROTOCOL', /answered otherwise/))
  })

  it('ends where a member goes on sending what nobody asked for', async () => {
    const connection = await open()
    const noise = framedAs(Buffer.concat([answerBody({ operation: 8 }), Buffer.alloc(16 * 1_048_576)]))
    member.answer = () => Buffer.concat([noise, noise, noise, noise])
    await expect(connection.state(patienceMs)).rejects.toThrow(failing('REGENT_GROUP_PROTOCOL', /nobody asked for/))
  })
})

describe('A server that does not log in', () => {
  let server: Server
  const sockets = new Set<Socket>()
  const login = { kind: 'mysql', user: 'streaming', password: 'x', tls: null } as const

  async function serve(greet: (socket: Socket) => void): Promise<string> {
    server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.on('close', () => sockets.delete(socket))
      greet(socket)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const at = server.address()
    return `127.0.0.1:${typeof at === 'object' && at !== null ? at.port : 0}`
  }

  afterEach(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })

  it('is given up in time, and nothing stays open', async () => {
    const address = await serve(() => undefined)
    await expect(XcomConnection.open(address, login, timers, 50)).rejects.toThrow(
      failing('REGENT_SERVER_TIMEOUT', /no connection within 50 ms/),
    )
    await expect.poll(() => sockets.size).toBe(0)
  })

  it('is told of where it hangs up', async () => {
    const address = await serve((socket) => socket.end())
    await expect(XcomConnection.open(address, login, timers, patienceMs)).rejects.toThrow(
      failing('REGENT_SERVER_DOWN', /./),
    )
  })

  it('is told of in its own words where it refuses', async () => {
    const words = Buffer.from('\xff\x10\x04#08004Too many connections', 'latin1')
    const packet = Buffer.concat([Buffer.from([words.length, 0, 0, 0]), words])
    const address = await serve((socket) => socket.write(packet))
    await expect(XcomConnection.open(address, login, timers, patienceMs)).rejects.toThrow(/Too many connections/)
    await expect.poll(() => sockets.size).toBe(0)
  })
})
