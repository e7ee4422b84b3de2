import { EventEmitter } from 'node:events'
import type { NodeSSH } from 'node-ssh'
import { expect, it } from 'vitest'
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

function workersOf(refuses = (): boolean => false) {
  let marks = 0
  const exec = (_: string, made: (error: Error | undefined, channel: ShellThere) => void): void =>
    made(refuses() ? new Error('too many sessions') : undefined, new ShellThere())
  const ssh = { connection: { exec } } as unknown as NodeSSH
  return new Workers(ssh, { heard: () => undefined, newMark: () => `mark${(marks += 1)}` })
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
