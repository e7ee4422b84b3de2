import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { renderTable } from './table.ts'
import { patienceMs } from '#test/support/patience.ts'

const regent = join(import.meta.dirname, '..', '..', '..', 'bin', 'regent')
const inShell = (line: string) => spawnSync('sh', ['-c', line, regent], { encoding: 'utf8', timeout: patienceMs })

it('Output that cannot be written is an error: a script that reads nothing must not take that for an answer', () => {
  const { status, stderr } = inShell('"$0" --help > /dev/full')
  expect(stderr).toContain('standard output takes nothing (ENOSPC')
  expect(status).toBe(1)
})

it('A reader that has read enough ends the command in silence, as SIGPIPE would: whether the work was done is not told, so never with 0', () => {
  const { stderr } = inShell('{ "$0" --help; echo "ended with $?" >&2; } | true')
  expect(stderr).toBe('ended with 141\n')
})

it('… and so it does where errors and progress are read no more', () => {
  const { stdout } = inShell('{ { "$0" no-such-command 2>&1 >/dev/null; echo "ended with $?" >&3; } | true; } 3>&1')
  expect(stdout).toBe('ended with 141\n')
})

it('No line that is printed moves a cursor or sets a title, whoever wrote what is in it', () => {
  const io = join(import.meta.dirname, 'io.ts')
  const line = JSON.stringify('statement \u001b]0;owned\u0007\u009b2J of a backup')
  const script = `const { processIo } = await import(${JSON.stringify(io)}); processIo().out(${line}); processIo().note(${line})`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
  const printed = 'statement \\u001b]0;owned\\u0007\\u009b2J of a backup\n'
  expect([stdout, stderr]).toEqual([printed, printed])
})

it('A cell of a table is one line', () => {
  expect(renderTable(['A', 'B'], [['x\ny', 'z\t']])).toEqual(['A         B', 'x\\u000ay  z\\u0009'])
})
