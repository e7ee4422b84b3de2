import { expect, test } from 'vitest'
import { printable } from './printable.ts'

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
