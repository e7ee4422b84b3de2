import { describe, expect, it } from 'vitest'
import { refusedWithoutSsh, whatNoSshMeans } from './without-ssh.ts'

const ssh = { user: 'mysql' }
const [first, second] = [
  { instance: 'shop-0', ssh: undefined },
  { instance: 'shop-1', ssh },
]
const never = { hosts: [first, second], mode: 'async', acceptLoss: 'never' } as const

describe('A hosts file without SSH', () => {
  it('is refused host by host where writes wait for acknowledgements', () => {
    const found = refusedWithoutSsh({ ...never, mode: 'semisync' })
    expect(found.map(({ instance }) => instance)).toEqual(['shop-0'])
    expect(found[0]?.what).toContain('mode semisync')
  })

  it('is taken in mode async, for one host of several as well', () => {
    expect(refusedWithoutSsh(never)).toEqual([])
  })

  it('is told what it means, by what a person accepted', () => {
    expect(whatNoSshMeans(never)[0]).toBe('without SSH: shop-0')
    expect(whatNoSshMeans(never).join('\n')).toContain('before a person says so: failover.acceptLoss is never')
    expect(whatNoSshMeans({ ...never, acceptLoss: 'always' }).join('\n')).toContain('whatever is lost')
  })

  it('is told which start commands are never run', () => {
    const hosts = [{ ...first, start: 'systemctl start mysql' }, second]
    expect(whatNoSshMeans({ ...never, hosts }).at(-1)).toBe('  start commands are never run: shop-0')
    expect(whatNoSshMeans(never).join('\n')).not.toContain('start commands')
  })

  it('says nothing where each host has SSH', () => {
    expect(whatNoSshMeans({ ...never, hosts: [second] })).toEqual([])
  })
})
