import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { endProcessesNaming, processesNaming } from './leftovers.ts'

test('what names a folder is ended, and nothing else', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'regent-leftovers-'))
  const sleeping = (name: string) => spawn('sh', ['-c', 'sleep 600 & wait', name], { stdio: 'ignore', detached: true })
  const [named, other] = [sleeping(`${folder}/one`), sleeping('/nowhere')]
  try {
    await Promise.all([named, other].map((child) => once(child, 'spawn')))
    const ended = once(named, 'exit')
    await endProcessesNaming(`${folder}/`)
    expect(await processesNaming(`${folder}/`)).toStrictEqual([])
    expect(await ended).toStrictEqual([null, 'SIGKILL'])
    expect(other.exitCode ?? other.signalCode).toBeNull()
  } finally {
    for (const { pid } of [named, other]) if (pid !== undefined) process.kill(-pid, 'SIGKILL')
    await rm(folder, { recursive: true })
  }
})
