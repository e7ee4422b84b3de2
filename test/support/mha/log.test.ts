import { expect, it } from 'vitest'
import { complaintIn, isWatching, stepsIn } from './log.ts'

const at = 'Sun Nov 29 01:17:45 2026 -'
const watching = `${at} [info] Starting ping health check on 127.24.200.1(127.24.200.1:3306)..
${at} [info] Ping(SELECT) succeeded, waiting until MySQL doesn't respond..
`
const failover = `${watching}${at} [warning] Got error on MySQL select ping: 2013 (Lost connection to server during query)
${at} [warning] Got error on MySQL connect: 2002 (Can't connect to server on '127.24.200.1' (115))
${at} [warning] Connection failed 4 time(s)..
${at} [info] Master is down!
${at} [info] New master is 127.24.200.2(127.24.200.2:3306)
${at} [info] Executing master IP activate script:
${at} [info] All new slave servers recovered successfully.
`

it('MHA’s manager watches once a ping succeeded, and not while it only begins to', () => {
  expect(isWatching(watching)).toBe(true)
  expect(isWatching(watching.split('\n').slice(0, 1).join('\n'))).toBe(false)
  expect(isWatching('')).toBe(false)
})

it('The log of MHA’s manager tells of a failover step by step', () => {
  expect(stepsIn(watching)).toEqual([])
  expect(stepsIn(failover.split('\n').slice(0, 6).join('\n'))).toEqual(['ping failed', 'master called dead'])
  expect(stepsIn(failover)).toEqual([
    'ping failed',
    'master called dead',
    'new master chosen',
    'route written',
    'slaves follow',
  ])
})

it('What MHA’s manager complained of last is told in a line', () => {
  const module = '/usr/share/perl5/MHA/ManagerUtil.pm'
  const log = `${at} [error][${module}, ln178] one
${at} [info]  done.
${at} [error][${module}, ln178] Got ERROR: Unknown system variable 'super_read_only' at MHA/SlaveUtil.pm line 245.
${at} [error] three
`
  expect(complaintIn(log)).toBe(
    "Got ERROR: Unknown system variable 'super_read_only' at MHA/SlaveUtil.pm line 245. three",
  )
  expect(complaintIn(failover)).toBe('its log names no error')
})
