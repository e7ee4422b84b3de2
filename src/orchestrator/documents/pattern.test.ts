import { expect, test } from 'vitest'
import { patternOf } from './pattern.ts'

const addresses = ['db1.dc1:3306', 'db2.dc2:3306', 'DB3.dc2:3306']

test.each([
  ['', addresses],
  ['dc2', ['db2.dc2:3306', 'DB3.dc2:3306']],
  ['^db.*dc2', ['db2.dc2:3306']],
  ['(?i)^db.*dc2', ['db2.dc2:3306', 'DB3.dc2:3306']],
  ['db[12][.]dc1|DB3', ['db1.dc1:3306', 'DB3.dc2:3306']],
  ['nobody', []],
])('The pattern %s means %j', (text, meant) => {
  expect(addresses.filter(patternOf(text))).toEqual(meant)
})

test.each(['(a+)+$', '(.*)*x', '.*.*.*.*x', '(', '[', '*', 'a'.repeat(201), '(?P<x>a)', 'a{2}b{2}c{2}d{2}'])(
  'The pattern %s is refused: nobody knows what it means, or how long that takes',
  (text) => {
    expect(() => patternOf(text)).toThrow(/^pattern is not understood/)
  },
)
