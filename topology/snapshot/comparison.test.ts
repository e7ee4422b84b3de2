import { describe, expect, it } from 'vitest'
import { anObservation, gtids, uuidOf } from '../testing.ts'
import { askedAs, errantOf, extraOf, isFreeOfErrant, lackedOf, questionsFor } from './comparison.ts'
import type { Observation } from './observation.ts'

/** Of a server that is none of the cluster. */
const abroad = (last: number) => gtids('shop-9', last)
const replicaWith = (more: string, rest: Partial<Observation> = {}): Observation => ({
  ...anObservation({ server: { executed: `${gtids('shop-0', 100)},${more}` } }),
  ...rest,
})
/** A primary that was asked about shop-1, and lacks these. */
const sourceThatLacks = (lacked: string, as = askedAs(anObservation())): Observation => ({
  ...anObservation({ instance: 'shop-0' }),
  compared: { question: 1, lacks: { 'shop-1': { as, gtids: lacked } } },
})
const notAsked: Observation = { ...anObservation({ instance: 'shop-0' }), compared: { question: 0, lacks: {} } }

describe('What a replica holds and its source was not seen to hold', () => {
  it('is undecided before the source has looked for it', () => {
    const { errant, undecided, isAnswered } = extraOf(replicaWith(abroad(5)), notAsked)
    expect([errant.toString(), undecided.toString(), isAnswered]).toEqual(['', abroad(5), false])
  })

  it('is errant as far as the source lacks it by a look that began after the question; what came since is undecided', () => {
    const { errant, undecided } = extraOf(replicaWith(abroad(5)), sourceThatLacks(`${uuidOf('shop-9')}:2`))
    expect(errant.toString()).toBe(`${uuidOf('shop-9')}:2`)
    expect(undecided.toString()).toBe(`${uuidOf('shop-9')}:1:3-5`)
  })

  it('is nothing where the source has it by now', () => {
    const source = { ...sourceThatLacks(abroad(5)), ...replicaWith(abroad(5), { instance: 'shop-0' }) }
    expect(errantOf(replicaWith(abroad(5)), source).isEmpty()).toBe(true)
  })

  it('is none of it what the source issues itself', () => {
    const replica = anObservation({ server: { executed: gtids('shop-0', 120) } })
    expect(extraOf(replica, notAsked).undecided.isEmpty()).toBe(true)
  })

  it('is not judged by what another server there held, nor by what is on another volume now', () => {
    const source = sourceThatLacks(abroad(5), `shop-1@volume-1 ${uuidOf('shop-7')}`)
    expect(errantOf(replicaWith(abroad(5)), source).isEmpty()).toBe(true)
    const elsewhere = replicaWith(abroad(5), { member: 'shop-1@volume-7' })
    expect(errantOf(elsewhere, sourceThatLacks(abroad(5))).isEmpty()).toBe(true)
  })

  it('stays errant as told before until this source has answered', () => {
    const told = replicaWith(abroad(5), { errantTold: abroad(2) })
    expect(errantOf(told, notAsked).toString()).toBe(abroad(2))
    expect(errantOf(told, sourceThatLacks('')).isEmpty()).toBe(true)
  })

  it('is errant at once where the agent of the source is older and answers nothing', () => {
    expect(errantOf(replicaWith(abroad(5)), anObservation({ instance: 'shop-0' })).toString()).toBe(abroad(5))
  })
})

it('A source is asked about all that a replica holds beyond it, while any of that is undecided', () => {
  const replica = replicaWith(abroad(5))
  const all = { 'shop-1': { as: askedAs(replica), gtids: abroad(5) } }
  expect(questionsFor([replica, anObservation({ instance: 'shop-2' })], notAsked)).toEqual(all)
  expect(questionsFor([replica], sourceThatLacks(`${uuidOf('shop-9')}:2`))).toEqual(all)
  expect(questionsFor([replica], sourceThatLacks(abroad(5)))).toBeUndefined()
  expect(questionsFor([anObservation()], notAsked)).toBeUndefined()
})

it('A replica is free of errant transactions once its source has answered, although it receives more all the time', () => {
  expect(isFreeOfErrant(anObservation(), notAsked)).toBe(true)
  expect(isFreeOfErrant(replicaWith(abroad(5)), notAsked)).toBe(false)
  expect(isFreeOfErrant(replicaWith(abroad(5)), sourceThatLacks(''))).toBe(true)
  expect(isFreeOfErrant(replicaWith(abroad(5)), sourceThatLacks(abroad(1)))).toBe(false)
  // What it issued itself nobody sent it.
  expect(isFreeOfErrant(replicaWith(gtids('shop-1', 1)), sourceThatLacks(''))).toBe(false)
})

it('A replica lacks what its source was seen to hold', () => {
  const behind = anObservation({ server: { executed: gtids('shop-0', 90), received: gtids('shop-0', 95) } })
  expect(lackedOf(behind, notAsked).toString()).toBe(`${uuidOf('shop-0')}:96-100`)
})
