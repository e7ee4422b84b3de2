import { describe, expect, test } from 'vitest'
import { pageOf, type Ended } from './page.ts'
import { chosen, partsOf } from './parts.ts'

const parts = partsOf({ seed: 7, minutes: 60, schedules: 100 })

function ended(name: string, given: Partial<Ended>): Ended {
  const [part] = chosen(parts, name)
  return { part: part!, status: 0, seconds: 61.4, output: '', log: `/logs/${name}.log`, ...given }
}

describe('the page of all tests', () => {
  test('has a line for each part, with what its runner counted', () => {
    const output = '  Tests  12 passed (12)\n\nThe slowest files:\n    61.2 s  test/servers/long/disk.test.ts\n'
    const page = pageOf('abc1234', [ended('long', { output }), ended('mutations', {})])
    expect(page).toContain('All tests of abc1234: 2 of 2 parts passed')
    expect(page).toMatch(/^passed +long +61 s {2}Tests +12 passed \(12\)$/m)
    expect(page).toMatch(/^passed +mutations .*each rule of safety/m)
    expect(page).toMatch(/61\.2 s {2}test\/servers\/long\/disk\.test\.ts$/)
  })

  test('names what failed, the first few of it, and where the whole output is', () => {
    const output = Array.from({ length: 9 }, (_, at) => `WRONG  round ${at}: lost`).join('\n')
    const page = pageOf('abc1234', [ended('campaign', { status: 2, output })])
    expect(page).toContain('0 of 1 parts passed')
    expect(page).toMatch(/^exit 2 +campaign/m)
    expect(page).toContain('── campaign (/logs/campaign.log)\nWRONG  round 0: lost')
    expect(page).toContain('and 4 more')
  })

  test('ends with the last lines of a part that failed without a word of a test', () => {
    expect(pageOf('abc1234', [ended('e2e', { status: 1, output: 'no Kubernetes here' })])).toContain(
      '(/logs/e2e.log)\nno Kubernetes here',
    )
  })

  test('is of the parts that were asked for; a name that is no part is refused with those that are', () => {
    expect(chosen(parts, 'long,e2e').map(({ name }) => name)).toEqual(['long', 'e2e'])
    expect(() => chosen(parts, 'lnog')).toThrow(/no part is named lnog; there are mutations, /)
  })
})
