import { expect, test } from 'vitest'
import { verbFirst } from './verb-first.ts'

test.each([
  ['-n shops --context=prod topology shop', 'topology -n shops --context=prod shop'],
  [
    '-nshops --kubeconfig file -o json --manager-namespace r explain',
    'explain -nshops --kubeconfig file -o json --manager-namespace r',
  ],
  ['topology -n shops', 'topology -n shops'],
  ['--help', '--help'],
  ['--namespace', '--namespace'],
  ['-n topology', '-n topology'],
  ['--no-such topology', '--no-such topology'],
])('"%s" is read as "%s"', (given, read) => {
  expect(verbFirst(given.split(' ')).join(' ')).toBe(read)
})
