import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { asJson } from './as-json.ts'

describe('What the other end of a simulated connection reads', () => {
  it('is what JSON would bring', () => {
    const plain = fc.object({
      values: [fc.string(), fc.double(), fc.boolean(), fc.constant(null), fc.constant(undefined)],
    })
    fc.assert(
      fc.property(plain, (value) => {
        expect(asJson(value)).toStrictEqual(inWords(value))
      }),
    )
  })

  it('does not change where the sender changes its own', () => {
    const sent = { list: [{ number: 1 }] }
    const read = asJson(sent)
    sent.list[0]!.number = 2
    expect(read).toEqual({ list: [{ number: 1 }] })
  })

  it('is refused where JSON has no words', () => {
    expect(() => asJson({ amount: 1n })).toThrow('no words for bigint')
    expect(() => asJson({ act: () => undefined })).toThrow('no words for function')
    expect(() => asJson({ known: new Map() })).toThrow('no words for Map')
  })
})

function inWords(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}
