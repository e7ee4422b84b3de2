import { expect, it } from 'vitest'
import { aRecord } from '#failover/testing.ts'
import type { LeaderWord } from '#failover/protocol/word.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import { defaultTimings } from '#failover/protocol/timings.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import { anObservation, gtids, uuidOf } from '#topology/testing.ts'
import { LeaderWords } from './leader-words.ts'

const { restartAloneMs, leaseRenewMs, observeMs } = defaultTimings
const assignment = { epoch: 1, revision: 1, role: 'primary', counted: false, fenced: false, source: null } as const

/** Of the primary's agent. */
const seen = (more: Partial<Observation> = {}): Observation => ({
  ...anObservation({ instance: 'shop-0', stored: { assignment } }),
  takesWord: true,
  heardForgetful: {},
  ...more,
})

/** A manager that leads, and hears the primary when a test says so. */
function aLeader() {
  const said: LeaderWord[] = []
  const failures: string[] = []
  const sightings = {
    addressOf: () => '127.24.1.1:9400',
    forgetful: {} as Readonly<Record<string, string>>,
    observations: [] as readonly Observation[],
  }
  const network = { isCut: false }
  let nowMs = 0
  const words = new LeaderWords(
    {
      world: { clock: { monotonicMs: () => nowMs, wallMs: () => nowMs } },
      transport: {
        post: async (_address, path, body) => {
          if (network.isCut) throw new Error('no route')
          expect(path).toBe('/v1/word')
          said.push(body as LeaderWord)
        },
      },
      timings: defaultTimings,
      failed: (what) => void failures.push(what),
    },
    sightings,
  )
  /** What is said when `observation` is heard after so long. */
  const hears = async (
    afterMs: number,
    observation: Observation = seen(),
    record: ClusterRecord | null = aRecord(),
  ): Promise<readonly LeaderWord[]> => {
    nowMs += afterMs
    said.length = 0
    words.say(observation, record ?? undefined)
    await Promise.resolve()
    return [...said]
  }
  return { hears, sightings, network, failures }
}

it('A primary hears that somebody leads, three times within the time after which it would restart alone', async () => {
  const { hears } = aLeader()
  let heard = 0
  for (let ms = 0; ms < restartAloneMs; ms += 300) heard += (await hears(300)).length
  expect(heard).toBe(3)
})

it('A new start of its agent, and another primary, hear it at once', async () => {
  const { hears } = aLeader()
  expect(await hears(0)).toHaveLength(1)
  expect(await hears(300)).toEqual([])
  expect(await hears(300, seen({ agentRun: 'another' }))).toHaveLength(1)
  const other = seen({ instance: 'shop-1', member: 'shop-1@volume-1' })
  expect(await hears(300, other, aRecord({ primary: other.member }))).toMatchObject([{ member: other.member }])
})

it.each<[string, Observation, ClusterRecord | null]>([
  [
    'of an older agent, which does not know the word',
    anObservation({ instance: 'shop-0', stored: { assignment } }),
    aRecord(),
  ],
  ['that the record does not name', seen({ member: 'shop-0@another' }), aRecord()],
  ['of an epoch that is over', seen(), aRecord({ epoch: 2 })],
  ['whose record is not known', seen(), null],
])('A primary %s hears nothing', async (_, observation, record) => {
  const words = aLeader()
  expect(await words.hears(restartAloneMs, observation, record)).toEqual([])
})

it('A primary hears at once who is forgetful, again while it does not show that, and then no more', async () => {
  const { hears, sightings } = aLeader()
  expect(await hears(0)).toMatchObject([{ epoch: 1 }])
  sightings.forgetful = { 'shop-1': 'run-1.0' }
  expect(await hears(300)).toMatchObject([{ forgetful: { 'shop-1': 'run-1.0' } }])
  // Its server is looked at meanwhile.
  expect(await hears(leaseRenewMs - 1)).toEqual([])
  expect(await hears(1)).toMatchObject([{ forgetful: { 'shop-1': 'run-1.0' } }])
  const told = seen({ heardForgetful: { 'shop-1': 'run-1.0' } })
  expect(await hears(leaseRenewMs, told)).toEqual([])
  // Another machine crashed, and this one again.
  sightings.forgetful = { 'shop-1': 'run-1.0', 'shop-2': 'run-2.0' }
  expect(await hears(1, told)).toMatchObject([{ forgetful: sightings.forgetful }])
  sightings.forgetful = { 'shop-1': 'run-3.0', 'shop-2': 'run-2.0' }
  expect(await hears(1, told)).toMatchObject([{ forgetful: sightings.forgetful }])
  expect((await hears(restartAloneMs, seen({ heardForgetful: sightings.forgetful })))[0]).not.toHaveProperty(
    'forgetful',
  )
})

it('A word that does not arrive is said so, and followed by the next one', async () => {
  const { hears, network, failures } = aLeader()
  network.isCut = true
  expect(await hears(0)).toEqual([])
  await expect.poll(() => failures).toEqual(['saying to shop-0 who leads'])
  network.isCut = false
  expect(await hears(restartAloneMs / 3)).toHaveLength(1)
})

it('A primary is asked which of the transactions it lacks that a replica holds and it was not seen to hold, one question after the other', async () => {
  const { hears, sightings } = aLeader()
  const asked = (question: number, last: number) => ({
    question,
    held: { 'shop-1': { as: `shop-1@volume-1 ${uuidOf('shop-1')}`, gtids: gtids('shop-9', last) } },
  })
  const holds = (last: number) => anObservation({ server: { received: gtids('shop-9', last) } })
  const answering = (question: number) => seen({ compared: { question, lacks: {} } })
  sightings.observations = [holds(3), seen()]
  expect(await hears(0, answering(0))).toMatchObject([{ compare: asked(1, 3) }])
  sightings.observations = [holds(5), seen()]
  // Its server is looked at meanwhile; an answer that does not come may be lost.
  expect(await hears(observeMs, answering(0))).toEqual([])
  expect(await hears(1, answering(1))).toMatchObject([{ compare: asked(2, 5) }])
  expect(await hears(leaseRenewMs - 1, answering(1))).toEqual([])
  expect(await hears(1, answering(1))).toMatchObject([{ compare: asked(3, 5) }])
  sightings.observations = [anObservation(), seen()]
  expect(await hears(leaseRenewMs, answering(3))).toEqual([])
})

it('A primary whose agent is older is asked nothing', async () => {
  const { hears, sightings } = aLeader()
  sightings.observations = [anObservation({ server: { received: gtids('shop-9', 3) } })]
  expect((await hears(0))[0]).not.toHaveProperty('compare')
})
