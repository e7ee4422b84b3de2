import { killMysqld, startMysqld, type Instance } from './instance.ts'
import { store } from './model-agent.ts'
import type { ModelWorld } from './model-world.ts'

/** mysqld runs only when its agent says so (`agents/converge/start-gate.ts`). */
export function passStartGate(world: ModelWorld, instance: Instance): void {
  if (instance.ending) killMysqld(instance)
  const { disk, memory } = instance
  if (instance.mysqld !== 'dead' || disk.seeding) return
  if (disk.mayHaveTail) {
    memory.binlogSet = world.ledger.textOf(instance.held)
    if (!mayStartWithTail(world, instance)) return
  }
  memory.mayRestart = false
  startMysqld(instance)
}

function mayStartWithTail(world: ModelWorld, instance: Instance): boolean {
  const { assignment, promise } = instance.disk
  if (assignment?.role === 'replica' && promise === assignment.epoch) return settleTail(world, instance)
  const own = assignment?.role === 'primary' && promise === assignment.epoch
  return own && (instance.memory.mayRestart || instance.memory.alone)
}

/** Cuts what is only prepared and what the new primary does not hold. What was committed shows again as errant. */
function settleTail(world: ModelWorld, instance: Instance): boolean {
  const { memory, disk } = instance
  if (memory.sourceHolds === null) return false
  const extra = instance.held & ~world.ledger.writesIn(memory.sourceHolds)
  if (extra === 0) {
    store(world, instance, { mayHaveTail: false, unsettled: false })
    return true
  }
  if (!disk.unsettled) cutTail(instance, extra & ~instance.committed)
  memory.binlogSet = null
  store(world, instance, { mayHaveTail: false })
  return true
}

function cutTail(instance: Instance, tail: number): void {
  if (tail === 0) return
  instance.held &= ~tail
  // Else it could issue a trimmed number again, and who still has the old one would skip the new one.
  instance.generation += 1
}
