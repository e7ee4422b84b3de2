import { EventEmitter } from 'node:events'
import type { NodeSSH } from 'node-ssh'
import { expect, it } from 'vitest'
import type { Timers } from '#common/ports/ports.ts'
import { Workers } from './workers.ts'

/** A shell there that answers all but `hang`, and ends when it is closed. */
class ShellThere extends EventEmitter {
  readonly stderr = new EventEmitter()

  write(script: string): void {
    const [, mark = ''] = /'\\n(\S+) %s\\n'/.exec(script) ?? []
    if (script.includes('hang')) return
    this.emit('data', Buffer.from(`\n${mark} 0\n`))
    this.stderr.emit('data', Buffer.from(`${mark} end\n`))
  }

  close(): void {
    this.emit('close')
  }
}

/** What happens when logins have taken too long. */
const tooLong: (() => void)[] = []
const timers: Pick<Timers, 'after'> = {
  after: (_, late) => {
    tooLong.push(late)
    return { cancel: () => void tooLong.splice(tooLong.indexOf(late), 1) }
  },
}

function workersOf(refuses = (): boolean => false, shell = () => new ShellThere()) {
  let marks = 0
  const exec = (_: string, made: (error: Error | undefined, channel: ShellThere) => void): void =>
    made(refuses() ? new Error('too many sessions') : undefined, shell())
  const ssh = { connection: { exec } } as unknown as NodeSSH
  return new Workers(ssh, { heard: () => undefined, newMark: () => `mark${(marks += 1)}`, timers })
}

const never = new Promise<never>(() => undefined)
const late = (): Promise<never> => new Promise((_, reject) => setTimeout(() => reject(new Error('too late')), 20))

it('A script that waits for a shell has one as soon as those that hang are ended', async () => {
  const workers = workersOf()
  const hanging = [1, 2, 3, 4].map(() => workers.with((worker) => worker.run('hang', []), late()))
  const waiting = workers.with((worker) => worker.run('echo', []), never)
  for (const one of await Promise.allSettled(hanging)) expect(one).toMatchObject({ status: 'rejected' })
  expect(await waiting).toMatchObject({ stderr: '' })
})

it('Scripts that wait are refused where no shell can be had any more', async () => {
  let isRefusing = false
  const workers = workersOf(() => isRefusing)
  const hanging = [1, 2, 3, 4].map(() => workers.with((worker) => worker.run('hang', []), late()))
  const waiting = [1, 2, 3, 4, 5, 6].map(() => workers.with((worker) => worker.run('echo', []), never))
  const ended = Promise.allSettled(waiting)
  isRefusing = true
  await Promise.allSettled(hanging)
  for (const one of await ended)
    expect(one).toMatchObject({ status: 'rejected', reason: { message: 'too many sessions' } })
})

it('A login that does not end is given up, its session ended, and the next one is a login of its own', async () => {
  let hangs = true
  let ended = 0
  const shell = (): ShellThere => {
    const there = new ShellThere()
    if (hangs) there.write = () => undefined
    there.on('close', () => (ended += 1))
    return there
  }
  const workers = workersOf(() => false, shell)
  const opening = workers.open()
  await Promise.resolve()
  for (const late of [...tooLong]) late()
  await expect(opening).rejects.toMatchObject({ code: 'REGENT_SSH_DOWN' })
  expect(ended).toBe(1)
  hangs = false
  expect((await workers.open()).isFree).toBe(true)
  expect(tooLong).toEqual([])
})

it('A script fails, and nothing else, where its shell ends while it is sent', async () => {
  const shells: ShellThere[] = []
  const workers = workersOf(undefined, () => {
    const shell = new ShellThere()
    shells.push(shell)
    return shell
  })
  const running = workers.with((worker) => worker.run('hang', []), never)
  await expect.poll(() => shells.length).toBeGreaterThan(0)
  for (const shell of shells) shell.emit('error', new Error('write after end'))
  await expect(running).rejects.toThrow('the shell there ended')
})
