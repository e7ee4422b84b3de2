import { describe, expect, it } from 'vitest'
import { benchOptionsOf, benchUsage } from './bench-arguments.ts'
import { benchCases } from './cases.ts'

describe('the words after npm run bench', () => {
  it('are none for all cases of mode semisync, on servers with agents', () => {
    expect(benchOptionsOf([])).toEqual({
      ...{ cases: benchCases, runs: 20, instances: 3, mode: 'semisync', bare: 5 },
      ...{ far: false, sqlOnly: false, mha: false, router: false, mysqlRouter: false, sessions: 4_000 },
      ...{ json: undefined, into: undefined, backupsOf: null, watched: null },
    })
  })

  it('say cases, how often, and in which mode', () => {
    expect(benchOptionsOf(['freeze', 'kill', '--mode', 'async', '--runs', '3'])).toMatchObject({
      cases: ['freeze', 'kill'],
      mode: 'async',
      runs: 3,
    })
  })

  it.each<[readonly string[], object]>([
    [['kill', '--far'], { sqlOnly: false, mha: false }],
    [['--far', '--mode', 'semisync'], { sqlOnly: false, mha: false }],
    [['kill', '--far', '--no-ssh'], { sqlOnly: true, mha: false }],
    [['kill', '--far', '--mha'], { sqlOnly: false, mha: true }],
  ])('take servers of somebody else with %j: kill alone, in mode async', (words, options) => {
    expect(benchOptionsOf(words)).toMatchObject({ cases: ['kill'], far: true, mode: 'async', ...options })
  })

  it('freeze such servers too, where SSH reaches them', () => {
    expect(benchOptionsOf(['freeze', 'kill', '--far'])).toMatchObject({ cases: ['freeze', 'kill'], mode: 'async' })
  })

  it('name what is measured alone', () => {
    expect(benchOptionsOf(['backup', '--gigabytes', '2'])).toMatchObject({ backupsOf: 2, watched: null })
    expect(benchOptionsOf(['watching', '--watched', '50'])).toMatchObject({ backupsOf: null, watched: 50 })
  })

  it.each<[readonly string[], RegExp]>([
    [['kill', '--no-ssh'], /^--no-ssh goes with --far/],
    [['kill', '--mha'], /^--mha goes with --far, and not with --no-ssh/],
    [['kill', '--far', '--no-ssh', '--mha'], /^--mha goes with --far, and not with --no-ssh/],
    [['rejoin', '--far'], /^kill, freeze, cut alone are measured so/],
    [['cut', '--far', '--mha'], /^kill, freeze alone are measured so/],
    [['killl'], /^"killl" is no benchmark/],
  ])('are refused with the usage for %j', (words, why) => {
    expect(() => benchOptionsOf(words)).toThrow(why)
    expect(() => benchOptionsOf(words)).toThrow(benchUsage)
  })

  it.each<[readonly string[], RegExp]>([
    [['--mah'], /Unknown option '--mah'/],
    [['--runs', 'many'], /integer from 1 to 1000/],
    [['--mode', 'galera'], /^--mode: "galera" is no mode/],
  ])('are refused for %j', (words, why) => {
    expect(() => benchOptionsOf(words)).toThrow(why)
  })
})
