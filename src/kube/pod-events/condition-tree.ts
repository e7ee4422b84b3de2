import type { Assertion, Condition, TextMatch } from './availability-policy.ts'

/** What the probe of one pod said last. */
export interface ProbeResult {
  readonly pod: string
  /** 0 where it succeeded. */
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/**
 * Whether a condition holds of what was heard. Where no pod was heard nothing holds, not even that none is so: silence
 * proves nothing.
 * @param replicas how many pods there should be
 */
export function holds(condition: Condition, results: readonly ProbeResult[], replicas: number): boolean {
  if (results.length === 0) return false
  const { all, any, none, majority } = condition
  const counts: readonly (readonly [Assertion | undefined, (fitting: number) => boolean])[] = [
    [all, (fitting) => fitting === results.length],
    [any, (fitting) => fitting > 0],
    [none, (fitting) => fitting === 0],
    [majority, (fitting) => fitting > replicas / 2],
  ]
  return (
    counts.every(
      ([assertion, isEnough]) =>
        assertion === undefined || (isHeard(assertion, results, replicas) && isEnough(fittingOf(assertion, results))),
    ) && isCombined(condition, (inner) => holds(inner, results, replicas))
  )
}

interface Combination<Part> {
  readonly and?: readonly Part[]
  readonly or?: readonly Part[]
  readonly not?: Part
}

function isCombined<Part>({ and, or, not }: Combination<Part>, isTrue: (part: Part) => boolean): boolean {
  return (and?.every(isTrue) ?? true) && (or?.some(isTrue) ?? true) && (not === undefined || !isTrue(not))
}

function isHeard({ strict = false }: Assertion, results: readonly ProbeResult[], replicas: number): boolean {
  return !strict || results.length === replicas
}

function fittingOf(assertion: Assertion, results: readonly ProbeResult[]): number {
  return results.filter((result) => isSo(assertion, result)).length
}

/** Whether an assertion is true of one pod's word. */
export function isSo(assertion: Assertion, result: ProbeResult): boolean {
  const { succeed, stdout, stderr } = assertion
  return (
    (succeed === undefined || succeed === (result.code === 0)) &&
    matches(stdout, result.stdout) &&
    matches(stderr, result.stderr) &&
    isCombined(assertion, (inner) => isSo(inner, result))
  )
}

/** A probe's script ends its line, and nobody means that end. */
function matches(match: TextMatch | undefined, said: string): boolean {
  if (match === undefined) return true
  const { equalTo, contains } = match
  return (
    (equalTo === undefined || equalTo.trim() === said.trim()) && (contains === undefined || said.includes(contains))
  )
}
