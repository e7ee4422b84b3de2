import { mkdtemp, rm } from 'node:fs/promises'
import { readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { unlessGone } from '#common/process/process-stat.ts'
import { withFileLock } from './file-lock.ts'

/** Parent and group of each flock(1) that runs: fields 4 and 5 of /proc/<pid>/stat. */
function locksHeld(): readonly { readonly parent: number; readonly group: number }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => unlessGone(() => readFileSync(`/proc/${pid}/stat`, 'latin1')) ?? [])
    .filter((line) => line.includes(' (flock) '))
    .map((line) => line.slice(line.lastIndexOf(')') + 2).split(' '))
    .map(([, parent, group]) => ({ parent: Number(parent), group: Number(group) }))
}

it('Ctrl-C in a terminal does not end who holds a lock for a command that goes on: a group of its own has that', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'regent-lock-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const ownGroup = Number(readFileSync('/proc/self/stat', 'latin1').split(') ')[1]?.split(' ')[2])
  await withFileLock(
    join(folder, 'lock'),
    () => undefined,
    async () => {
      const own = locksHeld().filter(({ parent }) => parent === process.pid)
      expect(own).toHaveLength(1)
      expect(own[0]?.group).not.toBe(ownGroup)
    },
  )
})
