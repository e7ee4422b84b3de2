import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { underCommandLock } from './background.ts'

it('A command waits for another one that changes which clusters there are, and says so', async () => {
  const home = await mkdtemp(join(tmpdir(), 'regent-lock-'))
  vi.stubEnv('REGENT_HOME', home)
  onTestFinished(() => rm(home, { recursive: true }))
  const [first, noted] = [Promise.withResolvers<undefined>(), Promise.withResolvers<string>()]
  const begun = Promise.withResolvers<undefined>()
  const done: string[] = []
  const one = underCommandLock(noted.resolve, async () => {
    begun.resolve(undefined)
    await first.promise
    done.push('one')
  })
  await begun.promise
  const other = underCommandLock(noted.resolve, async () => done.push('other'))
  expect(await noted.promise).toBe('waiting for another regent command …')
  first.resolve(undefined)
  await Promise.all([one, other])
  expect(done).toEqual(['one', 'other'])
})
