import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const regent = join(import.meta.dirname, '..', '..', '..', 'bin', 'regent')
const inShell = (line: string) => spawnSync('sh', ['-c', line, regent], { encoding: 'utf8', timeout: 60_000 })

it('Output that cannot be written is an error: a script that reads nothing must not take that for an answer', () => {
  const { status, stderr } = inShell('"$0" --help > /dev/full')
  expect(stderr).toContain('standard output takes nothing (ENOSPC')
  expect(status).toBe(1)
})

it('… but for a reader that has read enough', () => {
  expect(inShell('{ "$0" --help; echo "ended with $?" >&2; } | true').stderr).toContain('ended with 0')
})
