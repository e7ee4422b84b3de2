import { expect, test } from 'vitest'
import { paintFor } from './paint.ts'
import { forTerminal, printable } from './printable.ts'

test.each([
  ['error: a “word” of 日本 😀', 'error: a “word” of 日本 😀'],
  ['two\nlines\tand a tab', 'two\nlines\tand a tab'],
  ['\u001b[31mred\u009b31m\u007f\r', '\\u001b[31mred\\u009b31m\\u007f\\u000d'],
  ['\u202edemo\u2066', '\\u202edemo\\u2066'],
  ['\ud800', '\ufffd'],
  [`name ${'x'.repeat(2_000)}.`, `name ${'x'.repeat(100)}… (2001 characters).`.replace('characters).', 'characters)')],
])('%j is printed as %j', (given, printed) => {
  expect(printable(given)).toBe(printed)
})

test('a line keeps its length, and only those colours that are painted here', () => {
  const paint = paintFor(true)
  const long = 'x'.repeat(2_000)
  expect(forTerminal(`${paint.red('error')}: \u001b]0;title\u0007\u001b[2J\u001b[8m${long}`, true)).toBe(
    `\u001b[31merror\u001b[39m: \\u001b]0;title\\u0007\\u001b[2J\\u001b[8m${long}`,
  )
  expect(forTerminal('\u001b[31mred\u001b[39m', false)).toBe('\\u001b[31mred\\u001b[39m')
})

test('JSON stays the same for whoever reads it', () => {
  const said = { statement: '\u009b31m \u202e \u007f \\ \u001b "' }
  expect(JSON.parse(forTerminal(JSON.stringify(said), false))).toEqual(said)
})
