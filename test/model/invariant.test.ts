import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mutations, type Mutation } from './mutations.ts'
import { play, type Happening } from './run.ts'
import { report, ruleOf, shortest, whatBreaks } from './shortest.ts'
import type { WorldOptions } from './model-world.ts'

/**
 * Schedules tried of the real `decide`. More by hand: REGENT_PROPERTY_RUNS=100000, another seed: REGENT_PROPERTY_SEED.
 */
const runs = Number(process.env['REGENT_PROPERTY_RUNS'] ?? 1_500)
const seed = Number(process.env['REGENT_PROPERTY_SEED'] ?? 20_261_121)
/** Another one each time, so that every run looks where none has looked. */
const freshSeed = Number(process.env['REGENT_PROPERTY_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
/** Schedules within which the checker must catch a broken one. */
const mutationRuns = 1_500

const anyOptions: fc.Arbitrary<WorldOptions> = fc.record({
  instances: fc.constantFrom(3, 3, 4, 5),
  acks: fc.constant(null),
  managers: fc.constantFrom(1, 2),
  durability: fc.constantFrom('strict', 'strict', 'strict', 'available'),
  never: fc.constantFrom(null, null, null, 1, 2),
  without: fc.noBias(fc.nat(2 ** 30 - 1)),
})

const anySchedule: fc.Arbitrary<readonly Happening[]> = fc.array(fc.noBias(fc.nat(2 ** 30 - 1)), {
  minLength: 100,
  maxLength: 180,
  size: 'max',
})

/**
 * A second instance is all that stands for the first; never the fixed runs' options, whose seeds would mean something
 * else.
 */
const twoOrMore = fc.tuple(anyOptions, fc.constantFrom(2, 2, 3, 4, 5)).map(([options, instances]): WorldOptions => ({
  ...options,
  instances,
  never: instances === 2 ? null : options.never,
}))

function playAll(options: fc.Arbitrary<WorldOptions>, from: number): void {
  const holds = fc.property(options, anySchedule, (drawn, schedule) => {
    const broken = whatBreaks(drawn, schedule)
    if (broken !== undefined) throw new Error(report(drawn, schedule, broken))
  })
  fc.assert(holds, { seed: from, numRuns: runs, endOnFailure: true })
}

describe('Under every schedule that was tried, no acknowledged write is lost, no two primaries acknowledge, and the cluster heals once faults end:', () => {
  const deadlineMs = Math.max(60_000, runs * 100)

  it('the same schedules each time', () => playAll(anyOptions, seed), deadlineMs)

  it(
    'two instances, and schedules drawn anew',
    () => {
      console.log(`random schedules: REGENT_PROPERTY_SEED=${freshSeed} repeats them`)
      playAll(twoOrMore, freshSeed)
    },
    deadlineMs,
  )
})

describe('the checker catches it when', () => {
  it.each(Object.entries(mutations))(
    '%s',
    (_, mutation) => {
      expect(caughtRule(mutation)).toMatch(/^(S[1-4]|monotonic)$/)
    },
    120_000,
  )
})

it('what broke is told by the shortest schedule that breaks it, step by step', () => {
  const options: WorldOptions = {
    instances: 3,
    acks: null,
    managers: 1,
    durability: 'strict',
    never: null,
    without: 0,
    flaws: { marksAtOnce: true },
  }
  const broken = fc.sample(anySchedule, { seed, numRuns: 300 }).flatMap((schedule) => {
    const sentence = play(options, schedule).violation
    return sentence === undefined ? [] : [{ schedule, sentence }]
  })[0]
  if (broken === undefined) throw new Error('no schedule broke the rule')
  const best = shortest(options, broken.schedule, ruleOf(broken.sentence))
  expect(best.length).toBeLessThan(broken.schedule.length / 3)
  for (let left = 0; left < best.length; left += 1)
    expect(ruleOf(whatBreaks(options, best.toSpliced(left, 1)) ?? '')).not.toBe(ruleOf(broken.sentence))
  const lines = report(options, broken.schedule, broken.sentence).split('\n')
  expect(lines[0]).toMatch(/^S\d: .*\(epoch \d+ rev \d+ P=\d S=\{.*\} k=\d/)
  expect(lines[1]).toContain(`after ${best.length} events`)
  expect(lines.at(-1)).toBe(`schedule: ${JSON.stringify(best)}`)
})

/** The rule that a broken decider or agent is seen to break; '' when the checker does not notice. */
function caughtRule({ where, seed: from, ...mutation }: Mutation): string {
  let caught = ''
  const unnoticed = fc.property(anyOptions, anySchedule, (options, schedule) => {
    const { violation } = play({ ...options, ...where, ...mutation }, schedule)
    caught = ruleOf(violation ?? '')
    return violation === undefined
  })
  fc.check(unnoticed, { seed: from, numRuns: mutationRuns, endOnFailure: true })
  return caught
}
