import type { Annotations, Maintenance } from '#failover/protocol/annotations.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import { keyText, type Key } from '../documents/key.ts'
import type { Server } from './fleet.ts'

/** As long as orchestrator's own: whoever needs longer asks again. */
export const maintenanceMs = 600_000

type Maintenances = Readonly<Record<InstanceName, Maintenance>>

/** What has not ended by itself. */
export function maintenancesAt({ maintenances = {} }: Annotations, wallMs: number): Maintenances {
  return Object.fromEntries(Object.entries(maintenances).filter(([, { untilWallMs }]) => untilWallMs > wallMs))
}

/** Without any the field is absent: earlier versions of Regent read such notes. */
export function withMaintenances({ maintenances: _, ...said }: Annotations, now: Maintenances): Annotations {
  return Object.keys(now).length === 0 ? said : { ...said, maintenances: now }
}

export function maintenanceOf({ name, cluster }: Pick<Server, 'name' | 'cluster'>): Maintenance | undefined {
  const { notes, wallMs } = cluster.known
  const all = maintenancesAt(notes.annotations ?? {}, wallMs)
  return Object.hasOwn(all, name) ? all[name] : undefined
}

/** In the words that scripts look for. */
export function whyHeld(key: Key, reason: string): string {
  return `Cannot begin maintenance for instance: ${keyText(key)}; maintenance reason: ${reason}`
}
