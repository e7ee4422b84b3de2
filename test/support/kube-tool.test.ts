import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { patienceMs } from './patience.ts'

const tool = join(import.meta.dirname, '../../scripts/kube/kube')

/** None of these gets so far as to need root or to touch the machine. */
function kube(...parameters: readonly string[]): {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
} {
  return spawnSync('bash', [tool, ...parameters], {
    encoding: 'utf8',
    timeout: patienceMs,
    env: { ...process.env, REGENT_KUBE_HOME: '/nonexistent/regent-kube' },
  })
}

test('without a command the tool names all of them', () => {
  const { status, stdout } = kube()
  expect(status).toBe(0)
  for (const verb of [
    'deps',
    'build',
    'up',
    'install',
    'exec',
    'image',
    'node-kill',
    'node-start',
    'cut',
    'mend',
    'status',
    'down',
  ])
    expect(stdout).toMatch(new RegExp(`^  ${verb} `, 'm'))
})

test('an unknown command is refused by name', () => {
  expect(kube('frobnicate')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('unknown command "frobnicate"') as string,
  })
})

test.each([
  [['up', '0'], 'a number of nodes from 1 to 9, not "0"'],
  [['up', 'three'], 'not "three"'],
  [['cut'], 'cut takes 1 argument, and 0 were given'],
  [['image'], 'image takes 1 argument, and 0 were given'],
  [['exec'], 'exec takes a command'],
  [['logs'], 'there are none yet'],
])('%j is refused with a sentence', (parameters, sentence) => {
  expect(kube(...parameters)).toMatchObject({ status: 1, stderr: expect.stringContaining(sentence) as string })
})

test('a family of addresses that there is not is refused with those that there are', () => {
  const { status, stderr } = spawnSync('bash', [tool, 'up'], {
    encoding: 'utf8',
    timeout: patienceMs,
    env: { ...process.env, REGENT_KUBE_HOME: '/nonexistent/regent-kube', REGENT_KUBE_FAMILIES: 'ipv6,ipv5' },
  })
  expect(status).toBe(1)
  expect(stderr).toContain('REGENT_KUBE_FAMILIES is "ipv6,ipv5"; allowed are ipv4, ipv6, and both')
})
