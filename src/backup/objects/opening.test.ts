import { expect, it } from 'vitest'
import { openingText, parseOpening } from './opening.ts'
import { sourceA } from './testing.ts'

const at = (epoch: number) => ({ cluster: 'shop', epoch, key: null })
const stored = openingText({ epoch: 7, instance: 'shop-1', atMs: 5, gtids: `${sourceA}:1-9` })

it('The opening of an epoch is read as it was written', () => {
  const opening = parseOpening(stored, at(7))
  expect([opening.epoch, opening.atMs, opening.gtids.toString()]).toEqual([7, 5, `${sourceA}:1-9`])
})

it('An opening of another epoch, or without a GTID set, is refused', () => {
  expect(() => parseOpening(stored, at(8))).toThrow('opening of epoch 8 cannot be used: it names epoch 7')
  const noSet = openingText({ epoch: 7, instance: 'shop-1', atMs: 5, gtids: `${sourceA}:9-1` })
  expect(() => parseOpening(noSet, at(7))).toThrow('opening of epoch 7 cannot be used: GTID set: at')
  expect(() => parseOpening(stored.replace(':1-9', ':1-8'), at(7))).toThrow('cannot be used: the content was changed')
  expect(() => parseOpening(stored.replace('": 1', '": 3'), at(7))).toThrow('opening of epoch 7 is of a newer Regent')
})
