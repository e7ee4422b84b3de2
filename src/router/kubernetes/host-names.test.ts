import { expect, it } from 'vitest'
import { HostNames } from './host-names.ts'

/** A name server that answers when the test says so. */
function aNameServer() {
  const open = new Map<string, (address: string) => void>()
  const asked: string[] = []
  return {
    asked,
    resolve: (host: string) => {
      asked.push(host)
      return new Promise<string>((resolve) => open.set(host, resolve))
    },
    answer: async (host: string, address: string) => {
      open.get(host)?.(address)
      await new Promise(setImmediate)
    },
  }
}

it('A name server that is silent is waited for until the deadline, and asked for nobody else meanwhile', async () => {
  const { asked, resolve } = aNameServer()
  const names = new HostNames(resolve, 1)
  expect(await names.addressOf('a')).toBe('')
  expect([await names.addressOf('b'), await names.addressOf('a')]).toEqual(['', ''])
  expect(asked).toEqual(['a'])
})

it('An answer that is late is for whoever asks next for the same host, once', async () => {
  const { asked, resolve, answer } = aNameServer()
  const names = new HostNames(resolve, 1)
  await names.addressOf('a')
  await answer('a', '10.0.0.1')
  expect(await names.addressOf('a')).toBe('10.0.0.1')
  expect(asked).toEqual(['a'])
  await names.addressOf('a')
  expect(asked, 'asked anew').toEqual(['a', 'a'])
})

it('Each host has its turn at a name server whose answers are all late', async () => {
  const { asked, resolve, answer } = aNameServer()
  const names = new HostNames(resolve, 1)
  const found = new Map<string, string>()
  for (let pass = 0; pass < 6; pass++) {
    for (const host of names.inTurn(['a', 'b', 'c'])) {
      const address = await names.addressOf(host)
      if (address !== '') found.set(host, address)
    }
    await answer(asked.at(-1) ?? '', `of ${asked.at(-1)}`)
  }
  expect(Object.fromEntries(found)).toEqual({ a: 'of a', b: 'of b', c: 'of c' })
})

it('An answer in time is given at once', async () => {
  const names = new HostNames(async (host) => `of ${host}`, 600_000)
  expect([await names.addressOf('a'), await names.addressOf('b')]).toEqual(['of a', 'of b'])
})
