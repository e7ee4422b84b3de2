import type { Part } from './parts.ts'

/** How one part ended. */
export interface Ended {
  readonly part: Part
  readonly status: number
  readonly seconds: number
  /** All that the part printed, without colours. */
  readonly output: string
  /** Where that is kept. */
  readonly log: string
}

const mostFailures = 5

/** What a run found, on one page: a line for each part, then what failed and where the whole output is. */
export function pageOf(commit: string, ended: readonly Ended[]): string {
  const red = ended.filter(({ status }) => status !== 0)
  return [
    `All tests of ${commit}: ${ended.length - red.length} of ${ended.length} parts passed`,
    '',
    ...ended.map(lineOf),
    ...red.flatMap((one) => ['', `── ${one.part.name} (${one.log})`, ...failuresIn(one.output)]),
    '',
    'The slowest files:',
    ...slowestOf(ended),
  ].join('\n')
}

function lineOf({ part, status, seconds, output }: Ended): string {
  const verdict = status === 0 ? 'passed' : `exit ${status}`
  return `${verdict.padEnd(7)} ${part.name.padEnd(16)} ${`${Math.round(seconds)} s`.padStart(7)}  ${countIn(output) || part.looksFor}`
}

/** The last line in which a runner counts what it ran. */
function countIn(output: string): string {
  return (
    linesOf(output).findLast((line) => /^(Tests\s|\d+ passed, \d+ failed|\d+ (of|rounds|schedules))/.test(line)) ?? ''
  )
}

function failuresIn(output: string): readonly string[] {
  const named = linesOf(output).filter((line) => /^(FAIL |WRONG |not found: |seed \d+ breaks)/.test(line))
  const failures = [...new Set(named)]
  if (failures.length === 0) return linesOf(output).slice(-mostFailures)
  const more = failures.length - mostFailures
  return [...failures.slice(0, mostFailures), ...(more > 0 ? [`and ${more} more`] : [])]
}

/** Runs of vitest name theirs; the slowest of all of them count. */
function slowestOf(ended: readonly Ended[]): readonly string[] {
  const timed = ended.flatMap(({ output }) =>
    linesOf(output).flatMap((line) => {
      const [, seconds, file] = /^([\d.]+) s {2}(\S+\.test\.ts)$/.exec(line) ?? []
      return seconds === undefined ? [] : [{ seconds: Number(seconds), file }]
    }),
  )
  return timed
    .toSorted((a, b) => b.seconds - a.seconds)
    .slice(0, mostFailures)
    .map(({ seconds, file }) => `${seconds.toFixed(1).padStart(8)} s  ${file}`)
}

function linesOf(output: string): readonly string[] {
  return output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}
