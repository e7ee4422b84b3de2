import { describe, expect, it } from 'vitest'
import { say } from '#common/sentence/sentence.ts'
import type { Assignment } from '#failover/protocol/assignment.ts'
import { orderVersion, type Endpoint } from '#failover/protocol/message.ts'
import type { ReseedOrder } from '#failover/protocol/order.ts'
import { gtids, memberOf, uuidOf } from '#topology/testing.ts'
import { Converger } from '../converge/converger.ts'
import { Seeding } from '../orders/reseeding.ts'
import { aServerState, ScriptedServer, testParts } from '../testing.ts'
import { settable } from '../testing-known.ts'
import { stopUnderPromise } from '../testing-passes.ts'

const primary: Endpoint = { instance: 'shop-1', host: '127.24.1.2', port: 3306, agent: '127.24.1.2:9000' }
const had = gtids('shop-1', 5)
const byHand = `${uuidOf('shop-0')}:1`
const order: ReseedOrder = {
  version: orderVersion,
  cluster: 'shop',
  member: memberOf('shop-0'),
  epoch: 3,
  revision: 10,
  donor: primary,
  source: primary,
  destroys: `${byHand},${had}`,
  sourceHolds: had,
  peers: [],
  beside: true,
}
const counted = {
  role: 'replica',
  epoch: 3,
  revision: 10,
  counted: true,
  source: primary,
  peers: [],
} as unknown as Assignment

/** A counted member with an errant transaction, of which a copy that holds this is made beside what it has. */
async function copyOf(copied: string) {
  const server = new ScriptedServer(aServerState({ executed: `${byHand},${had}` }))
  const did: string[] = []
  const stored = (): string => (parts.file.current.unproven ? ' unproven' : '')
  const parts = await testParts(server, {
    volume: {
      swapBeside: async () =>
        void (did.push(`swapped${stored()}`), (server.state = aServerState({ executed: copied }))),
      swapBack: async () =>
        void (did.push(`swapped back${stored()}`), (server.state = aServerState({ executed: `${byHand},${had}` }))),
      dropBeside: async () => void did.push(`dropped${stored()}`),
    },
  })
  await parts.file.update({ promise: 3, revision: 10, assignment: counted })
  const converger = new Converger(parts, () => undefined)
  const seeding = new Seeding(parts, { alone: (task) => converger.alone(task), wake: () => undefined })
  const ended = async (): Promise<void> => {
    while (parts.copying.progress !== null) await parts.world.timers.sleep(1)
  }
  return { server, parts, seeding, converger, did, ended }
}

describe('a copy beside what a counted member has', () => {
  it('takes its place once it is proven to hold all that the primary had; only then the other is removed', async () => {
    const { parts, seeding, did, ended } = await copyOf(had)
    await seeding.begin(order)
    expect(parts.file.current).toMatchObject({ seeding: false, unproven: false })
    await ended()
    await expect.poll(() => did).toEqual(['dropped', 'swapped unproven', 'dropped'])
    expect(parts.file.current).toMatchObject({ seeding: false, unproven: false, assignment: { counted: true } })
    expect(parts.notices.list.at(-1)).toMatchObject({ code: 'Seeded' })
  })

  it('that lacks anything of that is taken away again, and it is said what', async () => {
    const { parts, seeding, did, ended } = await copyOf(gtids('shop-1', 4))
    await seeding.begin(order)
    await ended()
    expect(did).toEqual(['dropped', 'swapped unproven', 'swapped back unproven'])
    expect(parts.file.current).toMatchObject({ seeding: false, unproven: false })
    expect(parts.copying.failures.get('shop-1')?.error).toContain('the copy lacks 1 transaction that')
  })

  it('is thrown away where a newer epoch was promised meanwhile: what is there was reported, and may lead', async () => {
    const { parts, seeding, did, ended } = await copyOf(had)
    await seeding.begin(order)
    await parts.file.update({ promise: 4 })
    await stopUnderPromise(parts)
    expect(parts.course.promiseReport).toMatchObject({ epoch: 4, holds: `${byHand},${had}` })
    await ended()
    expect(did).toEqual([])
    expect(parts.course.promiseReport).toMatchObject({ epoch: 4 })
  })

  it('leaves no doubt about what is there where a newer epoch is promised meanwhile: its agent alone opened it, to copy', async () => {
    const { server, parts, seeding, converger } = await copyOf(had)
    server.state = aServerState({ executed: `${byHand},${had}`, readOnly: true, superReadOnly: true })
    server.setReadOnly = async (to) =>
      void (server.state = { ...server.state, superReadOnly: to === 'closed', readOnly: true })
    server.cloneInto = () => new Promise(() => undefined)
    await seeding.begin(order)
    await expect.poll(() => server.state.superReadOnly).toBe(false)
    await parts.file.update({ promise: 4 })
    await stopUnderPromise(parts)
    await parts.observer.refresh()
    await converger.pass()
    expect(server.state.superReadOnly).toBe(true)
    expect(parts.file.current.opened).toBe(false)
    expect(parts.course.promiseReport).toMatchObject({ epoch: 4, holds: `${byHand},${had}` })
  })

  it('that fails leaves a closed server, and blames no other hand for what its agent opened to copy', async () => {
    const { server, parts, seeding, converger, ended } = await copyOf(had)
    server.state = aServerState({ executed: `${byHand},${had}`, readOnly: true, superReadOnly: true })
    server.setReadOnly = async (to) =>
      void (server.state = { ...server.state, superReadOnly: to === 'closed', readOnly: true })
    server.cloneInto = () => Promise.reject(new Error('Access denied'))
    settable(parts).course.converged = { revision: 10, done: true, sentence: say`follows` }
    await seeding.begin(order)
    await ended()
    await parts.observer.refresh()
    await converger.pass()
    expect(server.state.superReadOnly).toBe(true)
    expect(parts.notices.list.map(({ code }) => code)).not.toContain('ClosedAgain')
  })

  it('whose agent died before it was proven is taken back by the next one before anything else, and nothing is said of it before', async () => {
    const { parts, converger, did } = await copyOf(had)
    await parts.file.update({ unproven: true, promise: 4 })
    await stopUnderPromise(parts)
    expect(parts.course.promiseReport).toBeNull()
    await converger.pass()
    expect(did).toEqual(['swapped back unproven'])
    expect(parts.file.current.unproven).toBe(false)
  })

  it('counts as soon as it is proven, however long it takes to remove what was there before, or whether that fails', async () => {
    const never = () => new Promise<void>(() => undefined)
    for (const remove of [never, () => Promise.reject(new Error('EMFILE'))]) {
      const { parts, seeding, converger, did } = await copyOf(had)
      parts.volume.dropBeside = () => (did.includes('swapped unproven') ? remove() : Promise.resolve())
      await seeding.begin(order)
      await expect.poll(() => parts.copying.progress).toBeNull()
      expect(await converger.alone(async () => parts.file.current.unproven)).toBe(false)
      expect(parts.copying.failures.size).toBe(0)
      expect(parts.notices.list.map(({ code }) => code)).toContain('Seeded')
    }
  })

  it('is not put in place while something is there that cannot be removed: that would be taken for what was there', async () => {
    const { parts, seeding, did, ended } = await copyOf(had)
    parts.volume.dropBeside = () => Promise.reject(new Error('EACCES'))
    await seeding.begin(order)
    await ended()
    expect(did).toEqual([])
    expect(parts.copying.failures.get('shop-1')?.error).toContain('EACCES')
  })

  it('has what is there receive nothing while it is made', async () => {
    const { server, parts, seeding, converger } = await copyOf(had)
    server.cloneInto = () => new Promise(() => undefined)
    await seeding.begin(order)
    await converger.pass()
    expect(server.calls).not.toContain('startReceiver')
    expect(parts.copying.progress).toMatchObject({ stage: 'copying' })
  })
})
