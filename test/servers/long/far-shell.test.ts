import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pieceScript, writeScript } from '#agents/far/scripts.ts'
import { SshShell } from '#agents/far/ssh.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { runCommand } from '#common/process/run-command.ts'
import { ownAddress, type OwnAddress } from '#test/support/own-address.ts'
import { Sshd, unpackedSshd } from '#test/support/sshd.ts'

describe('Scripts on a host behind a real sshd', () => {
  let home = ''
  let own: OwnAddress
  let sshd: Sshd
  let shell: SshShell

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'regent-ssh-'))
    own = await ownAddress()
    await runCommand(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', join(home, 'id')], { deadlineMs: 10_000 })
    const root = await unpackedSshd()
    if (root === undefined) throw new Error('no sshd can be had here')
    sshd = new Sshd(root, home, own.host)
    await sshd.start(join(home, 'id.pub'))
    await writeFile(join(home, 'known'), await sshd.knownHost())
    const login = { user: 'root', port: 22, keyFile: join(home, 'id'), knownHostsFile: join(home, 'known') }
    shell = new SshShell(own.host, login, realWorld)
  })
  afterAll(async () => {
    shell.close()
    await sshd.stop()
    own.release()
    await rm(home, { recursive: true })
  })

  it('get their words as they are, and say how they ended', async () => {
    expect((await shell.run('printf "<%s>" "$@"', [`it's`, 'a b'])).stdout.toString()).toBe(`<it's><a b>`)
    await expect(shell.run('echo bad >&2; exit 3', [])).rejects.toThrow(/it answered 3: bad/)
  })

  it('are given bytes that are no script, also those that they leave unread', async () => {
    const bytes = Buffer.alloc(1_000_000, 'exit 9\n')
    await expect(shell.run('exit 4', [], { input: bytes })).rejects.toThrow(/it answered 4/)
    const path = join(home, 'written')
    for (const offset of [0, bytes.length, bytes.length])
      await shell.run(writeScript, [path, String(offset)], { input: bytes })
    expect((await readFile(path)).equals(Buffer.concat([bytes, bytes]))).toBe(true)
    const piece = await shell.run(pieceScript, [path, '1', String(bytes.length)])
    expect(piece.stdout.equals(bytes)).toBe(true)
  })

  it('wait for each other where they are more than the shells, and one that hangs holds up no other', async () => {
    await expect(shell.run('sleep 600', [], { deadlineMs: 200 })).rejects.toThrow(/no answer within 200 ms/)
    const all = await Promise.all([1, 2, 3, 4, 5, 6].map((n) => shell.run('echo "$1"', [String(n)])))
    expect(all.map(({ stdout }) => stdout.toString().trim())).toEqual(['1', '2', '3', '4', '5', '6'])
  })
})
