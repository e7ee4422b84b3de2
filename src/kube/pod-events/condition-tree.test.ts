import { describe, expect, it } from 'vitest'
import type { Assertion, Condition } from './availability-policy.ts'
import { holds, isSo, type ProbeResult } from './condition-tree.ts'

const result = (code: number, stdout = '', stderr = ''): ProbeResult => ({ pod: 'db-0', code, stdout, stderr })
const good = result(0, 'ready\n')
const bad = result(-1, 'waiting', 'exit code: 1')
const succeed: Assertion = { succeed: true }

describe('Of three replicas', () => {
  it.each<[string, Condition, readonly ProbeResult[], boolean]>([
    ['all of all', { all: succeed }, [good, good, good], true],
    ['all of those that were heard', { all: succeed }, [good], true],
    ['all, but one fails', { all: succeed }, [good, good, bad], false],
    ['all, strictly', { all: { succeed: true, strict: true } }, [good, good, good], true],
    ['all, strictly, and one is silent', { all: { succeed: true, strict: true } }, [good, good], false],
    ['any', { any: succeed }, [bad, good], true],
    ['any, but nobody succeeds', { any: succeed }, [bad, bad], false],
    ['any, strictly, and one is silent', { any: { succeed: true, strict: true } }, [good, good], false],
    ['none', { none: succeed }, [bad, bad], true],
    ['none, but one does', { none: succeed }, [bad, good], false],
    ['none, strictly, and one is silent', { none: { succeed: true, strict: true } }, [bad, bad], false],
    ['a majority of the replicas', { majority: succeed }, [good, good], true],
    ['a majority of those that were heard only', { majority: succeed }, [good], false],
    ['a majority, strictly, and one is silent', { majority: { succeed: true, strict: true } }, [good, good], false],
    ['two conditions at once', { any: succeed, none: { stderr: { contains: 'x' } } }, [good], true],
    [
      'two conditions at once, one of them false',
      { any: succeed, none: { stdout: { contains: 'ready' } } },
      [good],
      false,
    ],
    ['and', { and: [{ any: succeed }, { any: { succeed: false } }] }, [good, bad], true],
    ['and, one of them false', { and: [{ any: succeed }, { any: { succeed: false } }] }, [good], false],
    ['or', { or: [{ all: succeed }, { majority: succeed }] }, [good, good, bad], true],
    ['or, all of them false', { or: [{ all: succeed }, { majority: succeed }] }, [good, bad], false],
    ['not', { not: { all: succeed } }, [bad], true],
    ['not, of what is true', { not: { all: succeed } }, [good], false],
    ['all, and nobody was heard', { all: succeed }, [], false],
    ['none, and nobody was heard', { none: succeed }, [], false],
    ['not, and nobody was heard', { not: { all: succeed } }, [], false],
    ['trees', { or: [{ and: [{ all: succeed }, { not: { any: { succeed: false } } }] }] }, [good], true],
  ])('%s', (_what, condition, results, is) => {
    expect(holds(condition, results, 3)).toBe(is)
  })
})

describe('One pod’s word', () => {
  it.each<[Assertion, ProbeResult, boolean]>([
    [{ succeed: true }, good, true],
    [{ succeed: false }, good, false],
    [{ succeed: false }, bad, true],
    [{ stdout: { equalTo: 'ready' } }, good, true],
    [{ stdout: { equalTo: 'read' } }, good, false],
    [{ stdout: { contains: 'read' } }, good, true],
    [{ stdout: { contains: 'x' } }, good, false],
    [{ stdout: { contains: 'ea', equalTo: 'ready' } }, good, true],
    [{ stderr: { contains: 'code: 1' } }, bad, true],
    [{ stderr: { equalTo: '' } }, bad, false],
    [{ succeed: true, stdout: { contains: 'x' } }, good, false],
    [{ and: [{ succeed: true }, { stdout: { contains: 'ready' } }] }, good, true],
    [{ and: [{ succeed: true }, { stdout: { contains: 'x' } }] }, good, false],
    [{ or: [{ succeed: false }, { stdout: { contains: 'ready' } }] }, good, true],
    [{ or: [{ succeed: false }, { stdout: { contains: 'x' } }] }, good, false],
    [{ not: { succeed: true } }, bad, true],
    [{ not: { succeed: true } }, good, false],
  ])('%j of %j is %s', (assertion, said, is) => {
    expect(isSo(assertion, said)).toBe(is)
  })
})
