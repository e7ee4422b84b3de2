import { describe, expect, it } from 'vitest'
import { firstMade, lastWritten, NamespaceBudget, roughBytes } from './namespace-budget.ts'
import { configMap } from '../testing-kinds.ts'
import type { ConfigMap } from '../objects/config-map.ts'

const large = 'x'.repeat(1_000)

function written(name: string, version: number, namespace = 'evil'): ConfigMap {
  const object = configMap(name, { large })
  const creationTimestamp = new Date(version * 1_000).toISOString()
  return { ...object, metadata: { ...object.metadata, namespace, resourceVersion: String(version), creationTimestamp } }
}

const one = roughBytes(written('a', 1))

describe('A namespace with more than its budget', () => {
  it('keeps what was written last, and has some of the budget free then', () => {
    const budget = new NamespaceBudget({ bytesPerNamespace: 4.5 * one, rank: lastWritten })
    const left = ['d', 'b', 'a', 'c', 'e'].map((name, at) => budget.take(written(name, 10 - at)))
    expect(left).toEqual([[], [], [], [], ['evil/e', 'evil/c']])
    expect(budget.take(written('f', 20))).toEqual([])
  })

  it('keeps what was there first, where that is asked for', () => {
    const budget = new NamespaceBudget({ bytesPerNamespace: 4.5 * one, rank: firstMade })
    const left = ['a', 'b', 'c', 'd', 'e'].map((name, at) => budget.take(written(name, at + 1)))
    expect(left).toEqual([[], [], [], [], ['evil/e', 'evil/d']])
  })

  it('takes nothing of another one', () => {
    const budget = new NamespaceBudget({ bytesPerNamespace: 4.5 * one, rank: lastWritten })
    budget.take(written('mine', 1, 'good'))
    const left = Array.from({ length: 100 }, (_, at) => budget.take(written(`e${at}`, at + 2))).flat()
    expect(left.length).toBeGreaterThan(90)
    expect(left.every((text) => text.startsWith('evil/'))).toBe(true)
  })

  it('counts an object once, and one that is gone no more', () => {
    const budget = new NamespaceBudget({ bytesPerNamespace: 4.5 * one, rank: lastWritten })
    for (let version = 1; version < 50; version += 1) expect(budget.take(written('a', version))).toEqual([])
    for (let version = 1; version < 50; version += 1) {
      expect(budget.take(written(`b${version}`, version))).toEqual([])
      budget.drop(written(`b${version}`, version))
    }
  })
})
