import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { regent } from '../testing.ts'

/** What bash offers for words typed after `regent`, the last one unfinished. */
async function offered(...words: readonly string[]): Promise<readonly string[]> {
  const { out } = await regent(['completion', 'bash'])
  const script = `${out}\nCOMP_WORDS=(regent ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; _regent; printf '%s\\n' "\${COMPREPLY[@]}"`
  return execFileSync('bash', ['-c', script], { encoding: 'utf8' })
    .split('\n')
    .filter((word) => word !== '')
}

test('bash completes commands, subcommands, options and fixed words', async () => {
  expect(await offered('sw')).toEqual(['switchover'])
  expect(await offered('local', 'sta')).toEqual(['status'])
  expect(await offered('local', 'fault', 'demo-0', 'kill-')).toEqual(['kill-mysqld', 'kill-agent'])
  expect(await offered('switchover', 'demo', '--t')).toEqual(['--to', '--timeout', '--token-file'])
  expect(await offered('manager', '--leader-e')).toEqual([
    '--leader-election-namespace',
    '--leader-election-lease-seconds',
    '--leader-election-renew-deadline-seconds',
    '--leader-election-retry-seconds',
  ])
  expect(await offered('local', 'sup')).toEqual([])
})

test('zsh and fish get a script that knows every command', async () => {
  for (const shell of ['zsh', 'fish']) {
    const { out } = await regent(['completion', shell])
    for (const word of ['switchover', 'topology', 'fence', 'logs']) expect(out).toContain(word)
    expect(out).not.toContain('supervise')
  }
})
