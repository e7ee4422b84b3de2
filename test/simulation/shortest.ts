import { play, type Outcome, type PlayOptions } from './schedule.ts'

/** The fewest faults of a seed that still break a rule of the same kind, by their places. */
export async function shortest(
  seed: number,
  { faults, violation = '' }: Outcome,
  how: PlayOptions = {},
): Promise<readonly number[]> {
  let kept = Array.from({ length: faults }, (_, fault) => fault)
  for (const fault of kept.toReversed()) {
    const fewer = kept.filter((other) => other !== fault)
    const outcome = await play(seed, { ...how, only: fewer })
    if (kindOf(outcome.violation) === kindOf(violation)) kept = fewer
  }
  return kept
}

function kindOf(violation: string | undefined): string | undefined {
  return violation?.split(':')[0]
}
