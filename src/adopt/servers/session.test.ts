import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { HostAddress } from '../host-address.ts'
import { ServerSession, whyNoMysql } from './session.ts'

const deadlineMs = 300

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

  it('and says nothing is said to be silent, with its address', async () => {
    const address = await saying('')
    const login = { user: 'regent', password: '', ca: undefined }
    await expect(ServerSession.open(address, login, deadlineMs)).rejects.toMatchObject({
      reach: 'silent',
      message: `127.0.0.1:${address.port} did not answer within ${deadlineMs} ms`,
    })
  })
})
