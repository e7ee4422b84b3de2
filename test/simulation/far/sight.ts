import type { RegentError } from '#common/errors/errors.ts'
import { endStreamsWhenBlind } from '#agents/far/silence.ts'
import type { Listening } from '../transport.ts'
import { silentLog } from './place.ts'

/** Who listens to an agent that sees nothing hears nothing, as the shipped agent has it. */
export function watchSight({ life, connections }: Listening, whyBlind: () => RegentError | null): void {
  const closeAllConnections = (): void => {
    for (const end of [...connections]) end()
  }
  endStreamsWhenBlind({ closeAllConnections }, { world: life.world, log: silentLog, whyBlind })
}
