import { describe, expect, it } from 'vitest'
import { ownerText, parseOwner, whyNotOwner, type Owner } from './owner.ts'

const owner: Owner = { formatVersion: 1, cluster: 'shop', lineage: 'aaaa1111', claimedAtMs: 1 }

describe('the folder of a cluster', () => {
  it('is written by nobody else than who came first', () => {
    expect(whyNotOwner(null, 'shop', 'aaaa1111')).toBe('')
    expect(whyNotOwner(owner, 'shop', 'aaaa1111')).toBe('')
  })

  it('is closed to a cluster that was restored from it, whatever its name', () => {
    expect(whyNotOwner(owner, 'shop', 'bbbb2222')).toEqual(
      'folder shop/ of the store has the backups of another cluster of that name (lineage aaaa1111): give this cluster (lineage bbbb2222) another store, or another folder',
    )
  })

  it('has an owner that is read as it was written, and that of another folder is refused', () => {
    expect(parseOwner(ownerText(owner), 'shop')).toEqual(owner)
    expect(() => parseOwner(ownerText(owner), 'shop-2')).toThrow(
      'owner of shop-2 cannot be used: it names cluster shop',
    )
    expect(() => parseOwner('{}', 'shop')).toThrow('owner of shop cannot be used: a checksum of the content is missing')
    expect(() => parseOwner('', 'shop')).toThrow('owner of shop cannot be used: the content is not JSON')
  })
})
