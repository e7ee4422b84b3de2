import { describe, expect, it } from 'vitest'
import { compareVersions, highestProtocolOf, isTooLowFor, lowestOf, mayLead } from './versions.ts'

describe('Versions', () => {
  it.each([
    ['9.7.4-2', '9.7.4', 0],
    ['8.0.9', '8.0.10', -1],
    ['8.4.0', '8.0.40', 1],
    ['9.0.0', '8.4.6', 1],
    ['', '8.0.26', -1],
  ])('are compared by their numbers: %s and %s', (left, right, sign) => {
    expect(Math.sign(compareVersions(left, right))).toBe(sign)
  })

  it('have a lowest one', () => {
    expect(lowestOf(['9.7.4', '8.0.40', '8.4.6'])).toBe('8.0.40')
    expect(lowestOf([])).toBe('')
  })
})

describe('A group', () => {
  it.each<[string, readonly string[], boolean]>([
    ['8.4.6', ['9.7.4', '9.7.4'], true],
    ['8.4.6', ['8.4.6', '9.7.4'], false],
    ['9.7.4', ['8.4.6', '8.4.6'], false],
    ['8.0.36', ['8.0.40'], true],
    ['8.0.40', ['8.0.36'], false],
    ['9.1.0', ['9.2.0'], true],
    ['8.4.3', ['8.4.6', '8.4.7'], false],
    ['8.4.3', ['8.4.6', '9.7.1'], true],
    ['9.7.1', ['9.7.4'], false],
    ['10.7.1', ['10.7.2'], false],
    ['10.6.0', ['10.6.1'], true],
    ['8.7.0', ['8.7.1'], true],
    ['', ['9.7.4'], false],
    ['8.4.6', [''], false],
    ['8.4.6', [], false],
  ])('refuses a server of %s beside %j: %s', (own, members, refused) => {
    expect(isTooLowFor(own, members)).toBe(refused)
  })

  it.each<[string, readonly string[], boolean]>([
    ['8.4.6', ['8.4.6', '9.7.4', '9.7.4'], true],
    ['9.7.4', ['8.4.6', '9.7.4', '9.7.4'], false],
    ['9.7.4', ['9.7.3', '9.7.4'], false],
    ['9.7.4', ['9.7.4', '9.7.4'], true],
  ])('is led by one of %s among %j: %s', (own, members, may) => {
    expect(mayLead(own, members)).toBe(may)
  })

  it.each<[readonly string[], string]>([
    [['8.0.26', '8.0.40'], '8.0.16'],
    [['8.0.27', '8.0.40'], '8.0.27'],
    [['9.7.4', '9.7.4', '9.7.4'], '8.0.27'],
    [['8.0.15', '9.7.4'], '5.7.14'],
    [['8.0.16'], '8.0.16'],
    [['5.7.13'], ''],
    [['', '9.7.4'], ''],
    [[], ''],
  ])('of %j speaks at most the protocol %s', (members, protocol) => {
    expect(highestProtocolOf(members)).toBe(protocol)
  })
})
