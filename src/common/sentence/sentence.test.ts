import { describe, expect, it } from 'vitest'
import { localPlace, type Command, type Place } from './command.ts'
import {
  command,
  counted,
  duration,
  joined,
  printed,
  reported,
  say,
  text,
  together,
  typedFor,
  type Sentence,
} from './sentence.ts'

const onKubernetes: Place = { kind: 'kubernetes', namespace: 'shops', cluster: 'shop' }
const lacks = (name: string, count: number): Sentence => say`${name} lacks ${counted(count, 'transaction')}`

describe('a sentence', () => {
  it('is text for people and in JSON', () => {
    expect(String(lacks('shop-1', 1))).toBe('shop-1 lacks 1 transaction')
    expect(JSON.stringify({ sentence: lacks('shop-1', 2) })).toBe('{"sentence":"shop-1 lacks 2 transactions"}')
  })

  it('has sentences within, and their key is a part of its key', () => {
    const whole = say`failing over after ${duration(300)}: ${lacks('shop-1', 2)} (${text('errno 5')}), in epoch ${7}`
    expect(String(whole)).toBe('failing over after 300 ms: shop-1 lacks 2 transactions (errno 5), in epoch 7')
    expect(whole.key).toBe('failing over after ‹duration›: ‹name› lacks ‹count› (‹text›), in epoch ‹number›')
  })

  it('is news where it is about somebody else or says something else, and not for its figures or words from outside', () => {
    expect(lacks('shop-1', 900).news).toBe(lacks('shop-1', 1).news)
    expect(lacks('shop-2', 1).news).not.toBe(lacks('shop-1', 1).news)
    expect(say`it ended: ${text('signal 9')}`.news).toBe(say`it ended: ${text('signal 11')}`.news)
  })

  it('tells by the first words of what was reported, before its figures', () => {
    const failed = (why: string) => say`commit failed: ${reported(why)}`.news
    expect(failed('no answer within 2000 ms')).toBe(failed('no answer within 1 ms'))
    expect(failed('no answer within 2000 ms')).not.toBe(failed('x is not a function'))
  })

  it('leaves out what is nothing', () => {
    expect(String(say`shop-0 leads${''}${undefined}${null}`)).toBe('shop-0 leads')
    expect(String(joined(['', lacks('shop-1', 1), '', lacks('shop-2', 1)], '; '))).toBe(
      'shop-1 lacks 1 transaction; shop-2 lacks 1 transaction',
    )
    expect(joined(['', ''], '; ')).toBe('')
  })

  it.each([
    [[], ''],
    [['a'], 'a'],
    [['a', 'b'], 'a and b'],
    [['a', 'b', 'c'], 'a, b and c'],
  ])('has %j together', (names, said) => {
    expect(String(together(names.map((name) => say`${name}`)))).toBe(said)
  })
})

describe('a command in a sentence', () => {
  it.each<[Command, string, string]>([
    [
      command('failover', '--accept-loss', '--to', 'shop-1'),
      'regent failover --accept-loss --to shop-1',
      'kubectl regent failover shop -n shops --accept-loss --to shop-1',
    ],
    [command('resume'), 'regent resume', 'kubectl regent resume shop -n shops'],
    [command('unfence', 'shop-1'), 'regent unfence shop-1', 'kubectl regent unfence shop-1 -n shops'],
    [
      command('replace', 'shop-1', '--accept-loss'),
      'regent replace shop-1 --accept-loss',
      'kubectl regent replace shop-1 -n shops --accept-loss',
    ],
    [command('scale', 'shop', '4'), 'regent local scale shop 4', 'kubectl -n shops scale mysql/shop --replicas 4'],
  ])('is typed as the place where it is read has it: %j', (given, local, kubernetes) => {
    const sentence = say`use: ${command(given.verb, ...given.args)} first`
    expect(printed(sentence, localPlace)).toBe(`use: ${local} first`)
    expect(printed(sentence, onKubernetes)).toBe(`use: ${kubernetes} first`)
    expect(String(typedFor(sentence, onKubernetes))).toBe(`use: ${kubernetes} first`)
    expect(sentence.key).toBe(`use: ${local.replaceAll(/\b(shop-1|shop|4)\b/g, '‹name›')} first`)
  })
})
