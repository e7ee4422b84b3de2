import assert from 'node:assert/strict'
import { inspect } from 'node:util'

/**
 * What scripts use of vitest, and nothing else: a process that plays one script begins in a tenth of the time. A script
 * that uses more fails with the whole code as well, and is said to.
 */

export interface PlainTest {
  readonly title: string
  readonly run: () => unknown
}

/** In the order of the file. */
export const tests: PlainTest[] = []
let within: readonly string[] = []

export function describe(name: string, body: () => void): void {
  const before = within
  within = [...before, name]
  body()
  within = before
}

export function it(name: string, run: () => unknown): void {
  tests.push({ title: [...within, name].join(' '), run })
}

it.each =
  <Row>(rows: readonly Row[]) =>
  (name: string, run: (...row: readonly unknown[]) => unknown): void => {
    for (const row of rows) {
      const given: readonly unknown[] = Array.isArray(row) ? row : [row]
      it(filledIn(name, given), () => run(...given))
    }
  }

/** `%s` and `%i` are what comes next; `$name` is a property of the only one. */
function filledIn(name: string, given: readonly unknown[]): string {
  const left = [...given]
  const filled = name.replace(/%[sijo]/g, () => String(left.shift()))
  const [only] = given
  return filled.replace(/\$(\w+)/g, (whole, key: string) =>
    only !== null && typeof only === 'object' && key in only ? String(Reflect.get(only, key)) : whole,
  )
}

type Check = (actual: unknown, wanted: never) => void

const checks = {
  toBe: (actual, wanted) => assert.equal(actual, wanted),
  toEqual: (actual, wanted) => assert.deepEqual(actual, wanted),
  toMatchObject: (actual: object, wanted: object) => assert.partialDeepStrictEqual(actual, wanted),
  toContain: (actual: string | readonly unknown[], wanted: never) =>
    assert.ok(actual.includes(wanted), `${shown(actual)} does not contain ${shown(wanted)}`),
  toHaveLength: (actual: ArrayLike<unknown>, wanted: number) =>
    assert.equal(actual.length, wanted, `${shown(actual)} has not the length ${wanted}`),
  toMatch: (actual: string, wanted: RegExp) => assert.match(actual, wanted),
  toBeNull: (actual) => assert.equal(actual, null),
  toBeUndefined: (actual) => assert.equal(actual, undefined),
  toBeLessThan: (actual: number, wanted: number) => assert.ok(actual < wanted, `${actual} is not below ${wanted}`),
  toBeGreaterThan: (actual: number, wanted: number) => assert.ok(actual > wanted, `${actual} is not above ${wanted}`),
} satisfies Readonly<Record<string, (actual: never, wanted: never) => void>>

function shown(what: unknown): string {
  return inspect(what, { depth: 1, breakLength: Infinity }).slice(0, 200)
}

type Entry = readonly [string, (wanted: unknown) => void]

export function expect(actual: unknown): Readonly<Record<string, unknown>> {
  const held: readonly Entry[] = Object.entries(checks).map(([name, check]) => [
    name,
    (wanted: unknown) => (check as Check)(actual, wanted as never),
  ])
  const refused: readonly Entry[] = Object.entries(checks).map(([name, check]) => [
    name,
    (wanted: unknown) =>
      assert.throws(() => (check as Check)(actual, wanted as never), Error, `${shown(actual)}: not ${name}`),
  ])
  const not: Readonly<Record<string, unknown>> = Object.fromEntries(refused)
  return { ...Object.fromEntries(held), not }
}
