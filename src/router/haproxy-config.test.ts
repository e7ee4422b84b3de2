import { expect, it } from 'vitest'
import { haproxyConfig, haproxyScript } from './haproxy-config.ts'

it('Addresses, limits and files are those that are given, and every server begins closed', () => {
  const text = haproxyConfig(
    { config: '/run/c', script: '/run/s.lua', socket: '/run/h.sock' },
    { hosts: ['127.24.7.100'], writePort: 3306, readPort: 3307 },
    { waitMs: 2_000, connectMs: 80, maxConnections: 40, logSessions: false },
  )
  expect(text).toMatch(/stats socket \/run\/h\.sock mode 600 level admin\n/)
  expect(text).toMatch(/bind 127\.24\.7\.100:3306\n[^]*bind 127\.24\.7\.100:3307\n/)
  expect(text).toContain('  timeout connect 80ms\n')
  expect(text).toMatch(/maxconn 80\n[^]*maxconn 40\n[^]*retries 25\n/)
  expect(text).toMatch(/option clitcpka\n {2}clitcpka-idle 60s\n[^]*option srvtcpka\n {2}srvtcpka-idle 15s\n/)
  const servers = text.split('\n').filter((line) => line.startsWith('  server '))
  expect(servers).toHaveLength(18)
  // The one behind the gate is refused where it begins.
  expect(servers.filter((line) => !line.includes('disabled'))).toEqual(['  server primary 127.0.0.1:1 weight 100'])
})

it('A router that listens by IPv6 names its address in brackets', () => {
  const text = haproxyConfig(
    { config: '/run/c', script: '/run/s.lua', socket: '/run/h.sock' },
    { hosts: ['fd00::7'], writePort: 3306, readPort: 3307 },
    { waitMs: 2_000, connectMs: 80, maxConnections: 40, logSessions: false },
  )
  expect(text).toMatch(/bind \[fd00::7\]:3306\n[^]*bind \[fd00::7\]:3307\n/)
})

it('A router with addresses of both families listens at each, and at no other', () => {
  const text = haproxyConfig(
    { config: '/run/c', script: '/run/s.lua', socket: '/run/h.sock' },
    { hosts: ['10.1.0.7', 'fd00::7'], writePort: 3306, readPort: 3307 },
    { waitMs: 2_000, connectMs: 80, maxConnections: 40, logSessions: false },
  )
  expect(text).toMatch(/frontend writes\n {2}bind 10\.1\.0\.7:3306\n {2}bind \[fd00::7\]:3306\n {2}tcp-request/)
  expect(text).toMatch(/frontend reading\n {2}bind 10\.1\.0\.7:3307\n {2}bind \[fd00::7\]:3307\n {2}tcp-request/)
  expect(text.match(/bind /g)).toHaveLength(4)
})

it('Who waited in vain is told what to do, in a packet of MySQL', () => {
  const script = haproxyScript('shop', 1_500)
  expect(script).toContain(
    `refusing('Regent: no primary of shop takes writes, after 1.5 s; try again, or ask "regent explain shop"')`,
  )
  // 1040, low byte first.
  expect(script).toContain('string.char(0xff, 16, 4)')
})
