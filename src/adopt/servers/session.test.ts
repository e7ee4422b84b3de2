import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { rootCertificates } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { HostAddress } from '../host-address.ts'
import { ServerSession, whyNoMysql } from './session.ts'

const deadlineMs = 300

/** As of a server without TLS: protocol 10, version, session, salt, and what it can do. */
const greeting = Buffer.concat([
  Buffer.from('0a', 'hex'),
  Buffer.from('9.7.4\0'),
  Buffer.from('07000000', 'hex'),
  Buffer.from('12345678\0'),
  // All but `CLIENT_SSL`.
  Buffer.from('fff7ff0200ffdf15', 'hex'),
  Buffer.alloc(10),
  Buffer.from('123456789012\0caching_sha2_password\0'),
])

/** Something that listens, and says these bytes to whoever comes. */
async function saying(bytes: string | Uint8Array): Promise<HostAddress> {
  const server = createServer((socket) => void (bytes.length > 0 && socket.write(bytes)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port }
}

describe('What listens there', () => {
  it.each<[string, string | Uint8Array, string]>([
    [
      'an sshd',
      'SSH-2.0-OpenSSH_9.2p1\r\n',
      'what listens there is no MySQL, it begins with "SSH-2.0-OpenSSH_9.2p1\\r\\n"',
    ],
    ['a MySQL', Buffer.from('4a0000000a392e37', 'hex'), ''],
    ['a MySQL that is full', Buffer.from('17000000ff100454', 'hex'), ''],
    ['silent', '', ''],
  ])('is %s', async (_, bytes, why) => {
    expect(await whyNoMysql(await saying(bytes), deadlineMs)).toBe(why)
  })

  it('and does not speak as it is asked to is no silent one: it lives', async () => {
    const address = await saying(Buffer.concat([Buffer.from([greeting.length, 0, 0, 0]), greeting]))
    const login = { user: 'regent', password: '', ca: rootCertificates[0] }
    await expect(ServerSession.open(address, login, 5_000)).rejects.toMatchObject({
      reach: 'unasked',
      message: 'Server does not support secure connection',
    })
  })

  it('and says nothing is said to be silent, with its address', async () => {
    const address = await saying('')
    const login = { user: 'regent', password: '', ca: undefined }
    await expect(ServerSession.open(address, login, deadlineMs)).rejects.toMatchObject({
      reach: 'silent',
      message: `127.0.0.1:${address.port} did not answer within ${deadlineMs} ms`,
    })
  })
})
