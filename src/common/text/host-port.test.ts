import { expect, test } from 'vitest'
import { hostPort } from './host-port.ts'

test.each([
  ['10.0.0.1', '10.0.0.1:3306'],
  ['shop-0', 'shop-0:3306'],
  ['::1', '[::1]:3306'],
])('%s is %s with its port', (host, text) => expect(hostPort(host, 3306)).toBe(text))
