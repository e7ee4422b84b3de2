import { expect, it } from 'vitest'
import { regent } from '../testing.ts'
import { inPlainWords } from './plain-words.ts'

it('Wrong usage is told in words of people who type commands, not of the library that reads them', async () => {
  const { err } = await regent(['local', 'up', 'Demo'])
  expect(err).toContain("error: 'Demo' is not taken for <name>. Allowed are 1 to 39 lower-case letters")
  expect((await regent(['local', 'up', '--instances', '0'])).err).toContain(
    "error: '0' is not taken for option '--instances <n>'. Allowed is an integer from 1 to 16.",
  )
  expect((await regent(['local', 'up', 'Demo', '-o', 'json'])).err).not.toContain('command-argument')
})

it('… whatever is in what was typed', () => {
  const typed = "error: command-argument value 'it's 'a' thing' is invalid for argument 'name'. Allowed …"
  expect(inPlainWords(typed)).toBe("error: 'it's 'a' thing' is not taken for <name>. Allowed …")
})
