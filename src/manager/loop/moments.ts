import type { Clock } from '#common/ports/ports.ts'
import { steadyWall } from '#common/ports/steady-wall.ts'
import type { DecisionInput } from '#failover/judge/situation.ts'

type Moments = Pick<DecisionInput, 'nowMs' | 'wallMs' | 'steadyWallMs' | 'managerSinceMs'>

/** What each decision of a manager run is told of time, by a run that begins now. */
export function momentsFromNow(clock: Clock): () => Moments {
  const managerSinceMs = clock.monotonicMs()
  const steadyWallMs = steadyWall(clock)
  return () => ({
    ...{ nowMs: clock.monotonicMs(), wallMs: clock.wallMs() },
    ...{ steadyWallMs: steadyWallMs(), managerSinceMs },
  })
}
