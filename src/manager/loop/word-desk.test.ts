import { expect, it } from 'vitest'
import type { WordAction } from '#failover/protocol/decision.ts'
import { WordDesk } from './word-desk.ts'

const said = {
  version: 1,
  cluster: 'shop',
  member: 'shop-2@volume-2',
  name: 'one',
  store: { address: '/backups' },
} as const
const action: WordAction = { kind: 'say', to: 'shop-2', word: 'backUp', said }

function aDesk() {
  const posted: string[] = []
  const failures: string[] = []
  const waiting: { readonly answer: () => void; readonly fail: () => void }[] = []
  let nowMs = 0
  const desk = new WordDesk(
    {
      world: { clock: { monotonicMs: () => nowMs, wallMs: () => nowMs } },
      transport: {
        post: (address, path) => {
          posted.push(`${address}${path}`)
          return new Promise((resolve, reject) => {
            waiting.push({ answer: () => resolve({}), fail: () => reject(new Error('no route')) })
          })
        },
      },
      failed: (what) => void failures.push(what),
    },
    (instance) => (instance === 'shop-2' ? '127.24.1.3:9400' : undefined),
  )
  const answered = async (how: 'answer' | 'fail') => {
    waiting.shift()?.[how]()
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  return { desk, posted, failures, answered, later: (ms: number) => void (nowMs += ms) }
}

it('A word is said once at a time, and the same word again only after what it leads to could show', async () => {
  const { desk, posted, failures, answered, later } = aDesk()
  expect([desk.say(action), desk.say(action)]).toEqual([true, false])
  later(60_000)
  expect(desk.say(action)).toBe(false)
  await answered('answer')
  expect(desk.say(action)).toBe(true)
  await answered('fail')
  later(4_999)
  expect(desk.say(action)).toBe(false)
  expect(desk.say({ ...action, said: { ...said, name: 'two' } })).toBe(true)
  await answered('answer')
  later(5_000)
  expect(desk.say(action)).toBe(true)
  expect(new Set(posted)).toEqual(new Set(['127.24.1.3:9400/v1/back-up']))
  expect([posted.length, failures]).toEqual([4, ['saying backUp to shop-2']])
})

it('Nothing is said to an instance whose address nobody knows', () => {
  const { desk, posted } = aDesk()
  expect([desk.say({ ...action, to: 'shop-1' }), posted]).toEqual([false, []])
})
