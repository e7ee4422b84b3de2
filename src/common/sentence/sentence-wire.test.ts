import { describe, expect, it } from 'vitest'
import { command, counted, duration, reported, say, text, Sentence, type Heard } from './sentence.ts'
import { withParts, withSentences } from './sentence-wire.ts'

interface Message {
  readonly state: string
  readonly converged: { readonly sentence: Heard }
  readonly notices: readonly { readonly sentence: Heard }[]
}

const message: Message = {
  state: 'starting',
  converged: { sentence: say`starting` },
  notices: [
    { sentence: say`${'shop-1'} lacks ${counted(2, 'transaction')} for ${duration(300)}, in epoch ${7}` },
    { sentence: say`it ended: ${text('signal 9')}, ${reported('errno 5 of 7')}; use: ${command('replace', 'shop-1')}` },
  ],
}

describe('a message with sentences', () => {
  it('comes with them, part by part', () => {
    const read = withSentences(JSON.parse(withParts(message)) as Message)
    expect(read).toEqual(message)
    expect(read.notices.map(({ sentence }) => (sentence as Sentence).parts)).toEqual(
      message.notices.map(({ sentence }) => (sentence as Sentence).parts),
    )
    expect(Object.keys(read)).not.toContain('said')
  })

  it('is one with texts for a reader that knows no parts', () => {
    const { said: _, ...read } = JSON.parse(withParts(message)) as Message & { readonly said: object }
    expect(read.converged.sentence).toBe('starting')
    expect(read.notices[0]?.sentence).toBe('shop-1 lacks 2 transactions for 300 ms, in epoch 7')
  })

  it('has the texts that an older sender sends', () => {
    expect(withSentences(JSON.parse(JSON.stringify(message)) as Message).converged.sentence).toBe('starting')
  })

  it('takes a part of a kind that it does not know as a text', () => {
    const newer = { sentence: 'now', said: { sentence: [['mood', 'now']] } }
    expect((withSentences(newer).sentence as unknown as Sentence).key).toBe('‹text›')
  })

  it('puts nothing where no text stands', () => {
    const strange = { state: 'up', list: [1], said: { 'state/length': [], 'list/0': [], '__proto__/x': [], gone: [] } }
    expect(withSentences(strange)).toEqual({ state: 'up', list: [1] })
    expect(({} as Record<string, unknown>)['x']).toBeUndefined()
  })
})
