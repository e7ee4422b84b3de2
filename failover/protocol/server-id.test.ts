import { describe, expect, it } from 'vitest'
import { firstFolderNumber, folderNumbers, serverIdOf } from './server-id.ts'

describe('A server_id', () => {
  it('is another one for other data of the same instance', () => {
    expect(serverIdOf('shop-3', 77)).not.toBe(serverIdOf('shop-3', 78))
  })

  it('is never the same for two instances, whatever the numbers of their folders', () => {
    const all = Array.from({ length: 16 }, (_, ordinal) => `shop-${ordinal}`)
    const numbers = [null, firstFolderNumber, 3, 77, folderNumbers - 1]
    const given = all.map((instance) => numbers.map((number) => serverIdOf(instance, number)))
    expect(new Set(given.flat()).size).toBe(all.length * numbers.length)
  })

  it('of a folder that an older version made is what that version gave', () => {
    expect(serverIdOf('shop-0', null)).toBe(1)
    expect(serverIdOf('shop-15', null)).toBe(16)
  })

  it('is one that a server takes', () => {
    expect(serverIdOf('shop-15', folderNumbers - 1)).toBe(2 ** 32 - 1)
    expect(serverIdOf('shop-0', firstFolderNumber)).toBeGreaterThan(16)
  })
})
