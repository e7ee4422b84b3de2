import { joining } from './joining.ts'
import { leaving } from './leaving.ts'
import { majorities } from './majorities.ts'
import { order } from './order.ts'
import { removals } from './removals.ts'
import type { GroupScript } from './stage.ts'

/** What safety rests on in Group Replication, as scripts that real and simulated members play alike. */
export const groupScripts: readonly GroupScript[] = [...joining, ...leaving, ...majorities, ...order, ...removals]
