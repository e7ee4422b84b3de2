import { play, recover, type Happening } from './run.ts'
import type { WorldOptions } from './model-world.ts'

/** What breaks in this schedule, or when everything should be well again after it; undefined when nothing does. */
export function whatBreaks(
  options: WorldOptions,
  schedule: readonly Happening[],
  trace: string[] | null = null,
): string | undefined {
  const { violation, world } = play(options, schedule, trace)
  if (violation !== undefined) return violation
  trace?.push('— all faults end —')
  return recover(world)
}

/** The rule of a sentence of `whatBreaks`: `S1`, `liveness`, … */
export function ruleOf(sentence: string): string {
  return sentence.slice(0, Math.max(0, sentence.indexOf(':')))
}

/** A schedule that breaks the same rule and from which nothing can be left out. */
export function shortest(options: WorldOptions, schedule: readonly Happening[], rule: string): readonly Happening[] {
  let best = schedule
  for (let size = Math.ceil(best.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = best.length - size; from >= 0; from -= size) {
      const shorter = best.toSpliced(from, size)
      if (ruleOf(whatBreaks(options, shorter) ?? '') === rule) best = shorter
    }
  }
  return best
}

/** The shortest schedule, step by step, with what it breaks: for people. */
export function report(options: WorldOptions, schedule: readonly Happening[], sentence: string): string {
  const best = shortest(options, schedule, ruleOf(sentence))
  const trace: string[] = []
  const broken = whatBreaks(options, best, trace) ?? sentence
  return [
    broken,
    `after ${best.length} events in ${JSON.stringify({ ...options, broken: undefined })}:`,
    ...trace.slice(0, 200),
    `schedule: ${JSON.stringify(best)}`,
  ].join('\n')
}
