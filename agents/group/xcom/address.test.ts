import { describe, expect, it } from 'vitest'
import { hostAndPort } from './address.ts'

describe('An address in a group', () => {
  it.each([
    ['127.0.0.1:3306', '127.0.0.1', 3306],
    ['shop-0.shop-instances.shops.svc:33061', 'shop-0.shop-instances.shops.svc', 33061],
    ['[fd00::1]:3306', 'fd00::1', 3306],
  ])('%s is host and port', (address, host, port) => {
    expect(hostAndPort(address)).toEqual({ host, port })
  })

  it.each(['', '127.0.0.1', '127.0.0.1:', ':3306', 'fd00::1:3306', 'a:0', 'a:65536', 'a:1:2', '[]:1', 'a:-1'])(
    '"%s" is none',
    (address) => {
      expect(() => hostAndPort(address)).toThrow(expect.objectContaining({ code: 'REGENT_GROUP_PROTOCOL' }))
    },
  )
})
