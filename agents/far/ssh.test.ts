import { EventEmitter } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NodeSSH } from 'node-ssh'
import { afterEach, expect, it, onTestFinished, vi } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { SshShell } from './ssh.ts'

afterEach(() => vi.restoreAllMocks())

it('A connection that is made once its shell was closed is closed, too', async () => {
  const connecting = Promise.withResolvers<NodeSSH>()
  const connect = vi.spyOn(NodeSSH.prototype, 'connect').mockImplementation(function (this: NodeSSH) {
    this.connection = Object.assign(new EventEmitter(), { setNoDelay: () => undefined }) as never
    return connecting.promise
  })
  const dispose = vi.spyOn(NodeSSH.prototype, 'dispose').mockImplementation(() => undefined)
  const folder = await mkdtemp(join(tmpdir(), 'regent-ssh-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'key')
  await writeFile(file, '')
  const shell = new SshShell('10.0.0.1', { user: 'mysql', port: 22, keyFile: file, knownHostsFile: file }, realWorld)
  const running = shell.run(':', []).catch((error: unknown) => String(error))
  await expect.poll(() => connect.mock.calls.length).toBe(1)
  shell.close()
  connecting.resolve(new NodeSSH())
  expect(await running).toContain('closed')
  expect(dispose).toHaveBeenCalledOnce()
})
