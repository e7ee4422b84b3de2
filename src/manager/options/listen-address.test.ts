import { expect, test } from 'vitest'
import { parseListenAddress } from './listen-address.ts'

test('an address to listen on is this machine’s own unless it names another', () => {
  expect(parseListenAddress(':6060')).toEqual({ host: '127.0.0.1', port: 6060 })
  expect(parseListenAddress('0.0.0.0:6060')).toEqual({ host: '0.0.0.0', port: 6060 })
  expect(parseListenAddress('[::1]:1')).toEqual({ host: '::1', port: 1 })
})

test.each([
  '',
  '6060',
  ':0',
  ':65536',
  ':',
  'localhost:6060',
  '[127.0.0.1]:6060',
  '::1:6060',
  '300.0.0.1:6060',
  '127.0.0.1:6060/debug',
])('"%s" is no address to listen on', (text) => {
  expect(parseListenAddress(text)).toBeUndefined()
})
