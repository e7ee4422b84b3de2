import { expect, it } from 'vitest'
import type { ClusterRecord } from '../../failover/protocol/record.ts'
import type { Observation } from '../../topology/snapshot/observation.ts'
import { Checker } from './checks.ts'
import { killMysqld } from './instance.ts'
import { ModelWorld, type WorldOptions } from './model-world.ts'

const options: WorldOptions = { instances: 5, acks: null, managers: 2, durability: 'strict', never: 3, without: 0 }

/**
 * Too rare for random schedules: shop-3 alone received a write and must never lead. Manager 0 lets shop-1 fetch that
 * write, under an intent, and dies; the order is late. Manager 1 does not reach shop-3 and commits shop-2 with shop-1
 * in S′. Then the order arrives.
 */
function playLateFetch(broken?: WorldOptions['broken']): {
  violation: string | undefined
  record: ClusterRecord
  refused: boolean
} {
  const world = new ModelWorld({ ...options, ...(broken ? { broken } : {}) })
  const [first, second] = world.managers
  const [primary, , , holder] = world.instances
  if (!first || !second || !primary || !holder) throw new Error('the world is smaller than asked for')
  const turn = (manager: typeof first): void => {
    manager.lookAtAll()
    manager.act()
  }
  const deliverAll = (): void => {
    for (const letter of world.letters.splice(0)) world.deliver(letter)
  }
  world.write(primary)
  world.receiveOne(holder)
  killMysqld(primary)
  first.cutFrom.add('shop-4')
  for (let turns = 0; turns < 8 && world.letters[0]?.sent.kind !== 'fetch'; turns += 1) {
    deliverAll()
    turn(first)
  }
  const late = world.letters.splice(0).find(({ sent }) => sent.kind === 'fetch')
  if (late === undefined) throw new Error('nothing was to be fetched')
  second.cutFrom.add('shop-3')
  world.notes = { ...world.notes, fenced: [{ instance: 'shop-1', keepPrimary: false, wallMs: 0 }] }
  for (let turns = 0; turns < 8 && world.record.epoch === 1; turns += 1) {
    turn(second)
    deliverAll()
  }
  const before = world.named('shop-1')?.held
  world.deliver(late)
  return {
    violation: new Checker(world).violation(),
    record: world.record,
    refused: world.named('shop-1')?.held === before,
  }
}

it('a fetch that an earlier intent ordered is refused by those who are counted in the next epoch', () => {
  const { violation, record, refused } = playLateFetch()
  expect(violation).toBeUndefined()
  expect(record).toMatchObject({
    epoch: 2,
    primary: 'shop-2@volume-2',
    syncSet: ['shop-1@volume-1', 'shop-4@volume-4'],
  })
  expect(refused).toBe(true)
})

it('promises of an older revision must not count: the late fetch would make a member of S′ errant', () => {
  const renewed = (observation: Observation | null, record: ClusterRecord | undefined): Observation | null =>
    observation?.promiseReport && record
      ? { ...observation, stored: { ...observation.stored, revision: record.revision } }
      : observation
  const { violation } = playLateFetch((input, real) => {
    const instances = input.snapshot.instances.map((view) => ({
      ...view,
      observation: renewed(view.observation, input.record),
    }))
    return real({ ...input, snapshot: { instances } })
  })
  expect(violation).toMatch(/^S4: shop-1 is in S and holds what the primary lacks/)
})
