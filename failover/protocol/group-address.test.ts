import { expect, it } from 'vitest'
import { groupAddress } from './group-address.ts'

it.each([
  ['10.244.1.7', '10.244.1.7:3306'],
  ['127.24.1.2', '127.0.0.1:3306'],
  ['fd00::7', '[fd00::7]:3306'],
])('A member at %s listens for the others at %s', (host, address) => {
  expect(groupAddress({ host, port: 3306 })).toBe(address)
})
