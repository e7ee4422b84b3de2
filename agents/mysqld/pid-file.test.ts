import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import { findByArgument } from './pid-file.ts'

/** A process that has these words, and does nothing. */
async function running(argv0: string, argument: string): Promise<number | undefined> {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)', '--', argument], {
    argv0,
    stdio: 'ignore',
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'spawn')
  return child.pid
}

it('A server is found by what it was told, and a client that was told the same is none', async () => {
  const argument = `--defaults-file=/nowhere/${process.pid}/my.cnf`
  await running('mysqldump', argument)
  await running('mysql', argument)
  expect(await findByArgument(argument)).toBeUndefined()
  expect(await findByArgument(argument.slice(0, -1))).toBeUndefined()
  const pid = await running('/usr/sbin/mysqld', argument)
  expect(await findByArgument(argument)).toMatchObject({ pid })
})
