import { describe, expect, it } from 'vitest'
import { complaintAbout } from '#common/input/schema-complaint.ts'
import { complaintAboutHooks, hooksSchema, labelOf, longestOf, retriesOf, type Hooks } from './hook.ts'

const complaintOf = (hooks: Hooks, secret: 'secretFile' | 'secretRef' = 'secretFile') =>
  complaintAbout(hooksSchema, hooks) ?? complaintAboutHooks(hooks, secret)

const url = 'https://example.com/regent'

describe('Hooks that are refused, with path and what is allowed', () => {
  const wrong: Readonly<Record<string, readonly [Hooks, RegExp]>> = {
    'nothing to run': [
      { failed: [{}] },
      /^hooks\.failed\.0 has 0 of command, shell and webhook; allowed is exactly one/,
    ],
    'two things to run': [{ failed: [{ command: ['a'], shell: 'b' }] }, /^hooks\.failed\.0 has 2 of command/],
    'an empty command': [{ failed: [{ command: [] }] }, /^failed\.0\.command is \[\]/],
    'a command without a program': [{ failed: [{ command: [' '] }] }, /^hooks\.failed\.0\.command\.0 is ""; allowed/],
    'an empty line': [{ failed: [{ shell: ' ' }] }, /^hooks\.failed\.0\.shell is " "/],
    'a NUL': [{ failed: [{ command: ['a', 'b\0'] }] }, /^hooks\.failed\.0\.command\.1 holds a NUL/],
    'an unknown placeholder': [
      { afterFailover: [{ shell: 'a' }, { command: ['a', '{succesorHost}'] }] },
      /^hooks\.afterFailover\.1\.command\.1 has the unknown placeholder \{succesorHost\}; allowed are .*\{successorHost\}/,
    ],
    'no time': [
      { failed: [{ command: ['a'], timeoutMs: 0 }] },
      /^failed\.0\.timeoutMs is 0; allowed is an integer from 100/,
    ],
    'a stop after the fact': [
      { afterFailover: [{ command: ['a'], onFailure: 'stop' }] },
      /^hooks\.afterFailover\.0\.onFailure is "stop"; allowed at afterFailover is continue/,
    ],
    'no URL': [
      { failed: [{ webhook: { url: 'example.com' } }] },
      /^hooks\.failed\.0\.webhook\.url is no http or https URL/,
    ],
    'a URL of another kind': [{ failed: [{ webhook: { url: 'ftp://example.com' } }] }, /is no http or https URL/],
    'a URL with a password': [
      { failed: [{ webhook: { url: 'https://me:pass@example.com' } }] },
      /^hooks\.failed\.0\.webhook\.url holds a user name or password/,
    ],
    'a Secret on one machine': [
      { failed: [{ webhook: { url, secretRef: { name: 'a' } } }] },
      /^hooks\.failed\.0\.webhook has secretRef; allowed in this place is secretFile/,
    ],
    'an unknown moment': [{ later: [] } as Hooks, /unknown key "later"; allowed are detected, beforeFailover/],
  }
  it.each(Object.entries(wrong))('%s', (_, [hooks, complaint]) => {
    expect(complaintOf(hooks)).toMatch(complaint)
  })

  it('never with a password in what is said', () => {
    expect(complaintOf({ failed: [{ webhook: { url: 'https://me:pass@example.com' } }] })).not.toContain('pass@')
  })
})

describe('Hooks', () => {
  it('are taken with all their words', () => {
    const hooks: Hooks = {
      beforeFailover: [{ command: ['vip', '{failedHost}'], timeoutMs: 100, retries: 2, onFailure: 'stop' }],
      afterFailover: [
        { webhook: { url, secretRef: { name: 'hook', key: 'token' } } },
        { shell: 'echo ${HOME} {moment}' },
      ],
    }
    expect(complaintOf(hooks, 'secretRef')).toBeUndefined()
  })

  it('are shown by what runs, and nothing that may be a secret', () => {
    expect(labelOf({ webhook: { url: 'https://example.com:8443/path?token=1' } })).toBe('webhook of example.com:8443')
    expect(labelOf({ command: ['/usr/bin/vip', '--password=1'] })).toBe('vip')
    expect(labelOf({ shell: '  /usr/bin/vip --password=1' })).toBe('vip')
  })

  it('hold up what waits for them for the sum of their times; a webhook alone is tried again by itself', () => {
    expect(longestOf([{ command: ['a'] }, { command: ['b'], timeoutMs: 500 }])).toBe(10_500)
    expect([
      retriesOf({ command: ['a'] }),
      retriesOf({ webhook: { url } }),
      retriesOf({ webhook: { url }, retries: 0 }),
    ]).toEqual([0, 3, 0])
  })
})
