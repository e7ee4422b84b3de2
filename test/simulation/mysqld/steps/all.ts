import { acknowledging } from './acknowledging.ts'
import { channels } from './channels.ts'
import { copies } from './copies.ts'
import { endingSessions } from './ending-sessions.ts'
import { locks } from './locks.ts'
import type { Script } from './stage.ts'
import { stops } from './stops.ts'

/** What safety rests on, as scripts that real and simulated servers play alike. */
export const scripts: readonly Script[] = [
  ...acknowledging,
  ...endingSessions,
  ...channels,
  ...stops,
  ...copies,
  ...locks,
]
