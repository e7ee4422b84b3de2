import { describe, expect, it } from 'vitest'
import { anAdoption } from './testing.ts'
import { whatNoSshMeans } from './without-ssh.ts'

const ssh = { user: 'mysql', keyFile: '/k', knownHostsFile: '/h' }
const said = (first: object, adoption: object = {}): string =>
  whatNoSshMeans(anAdoption({ hosts: { 0: first, 1: { ssh }, 2: { ssh } }, adoption })).join('\n')

describe('A hosts file without SSH', () => {
  it('is told what that means, by what a person accepted', () => {
    expect(said({})).toMatch(/^without SSH: shop-0\n/)
    expect(said({})).toContain('before a person says so: failover.acceptLoss is never')
    expect(said({}, { failover: { acceptLoss: 'always' } })).toContain('whatever is lost')
  })

  it('is told which start commands are never run', () => {
    expect(said({ start: 'systemctl start mysql' })).toMatch(/\n {2}start commands are never run: shop-0$/)
    expect(said({})).not.toContain('start commands')
  })

  it('says nothing where each host has SSH, and where hosts without are refused', () => {
    expect(said({ ssh })).toBe('')
    expect(said({}, { mode: 'semisync' })).toBe('')
  })
})
