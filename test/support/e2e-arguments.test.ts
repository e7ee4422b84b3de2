import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { e2eUsage, e2eWordsOf } from './e2e-arguments.ts'

const root = join(import.meta.dirname, '..', '..')
const wordsOf = (...words: readonly string[]) => e2eWordsOf(words, root)

describe('the words after npm run test:e2e', () => {
  it('are none for all flows, smoke for its folder, or what is in names of files', () => {
    expect(wordsOf()).toEqual({ what: 'flows', filters: [], keep: false })
    expect(wordsOf('smoke', '--keep')).toEqual({ what: 'flows', filters: ['test/e2e/smoke/'], keep: true })
    expect(wordsOf('rolling', 'managers')).toEqual({ what: 'flows', filters: ['rolling', 'managers'], keep: false })
  })

  it('say which families of addresses the cluster has', () => {
    expect(wordsOf('hooks', '--families', 'ipv6,ipv4')).toMatchObject({ filters: ['hooks'], families: 'ipv6,ipv4' })
  })

  it('ask for the usage with --help', () => {
    expect([wordsOf('--help'), wordsOf('smoke', '-h')]).toEqual([{ what: 'usage' }, { what: 'usage' }])
  })

  it.each([
    ['an option that there is not', ['--kepe'], /Unknown option '--kepe'/],
    [
      'a family that there is not',
      ['--families', 'ipv5'],
      /^--families is "ipv5"; allowed are ipv4; ipv6; ipv4,ipv6; ipv6,ipv4/,
    ],
    ['a word that no file has', ['smoke', 'nosuchflow'], /^no file of a flow has "nosuchflow" in its name/],
  ])('are refused with the usage for %s', (_what, words, why) => {
    expect(() => wordsOf(...words)).toThrow(why)
    expect(() => wordsOf(...words)).toThrow(e2eUsage)
  })
})
