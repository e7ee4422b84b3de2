import { replicationUser } from '#agents/ports/server.ts'
import type { Machine } from '../machine.ts'
import { DataFolder } from '../mysqld/data-folder.ts'
import type { SeededRandom } from '../seeded-random.ts'

/**
 * Servers as `regent adopt manage` finds and leaves them: the first takes writes, the others follow, everybody has the
 * accounts of all, and each start from now on comes up closed.
 */
export function adopt(machines: readonly Machine[], random: SeededRandom): void {
  const everybody = new Set(machines.map(({ name }) => name))
  for (const machine of machines) {
    const folder = new DataFolder(random.uuid(), everybody)
    machine.folders.set('data', folder)
    machine.startMysqld()
    machine.mysqld?.begin()
  }
  const [primary, ...replicas] = machines
  if (primary?.mysqld == null) return
  const { mysqld } = primary
  mysqld.readOnly = mysqld.superReadOnly = mysqld.offline = false
  // Regent's schema.
  mysqld.commitNew(true, () => undefined)
  for (const { name, mysqld: replica, folder } of replicas) {
    if (replica === null || folder === undefined) continue
    folder.changeSource({ host: primary.host, user: replicationUser(name) }, true)
    replica.offline = false
    replica.startApplier()
    replica.receiver.start()
  }
}
