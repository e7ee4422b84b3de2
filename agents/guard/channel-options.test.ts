import { expect, it } from 'vitest'
import type { StoppedThread } from '#failover/protocol/channel-options.ts'
import type { ChangedSetting } from '#topology/snapshot/observation.ts'
import { prepareToLead } from '../semisync/preparation.ts'
import { changedOptionsIn, optionsToSet, reported } from '../sql/replication/channel-options.ts'
import { replicationUser } from '../ports/server.ts'
import { aServerState, primaryOfEpoch3, replicaOfEpoch3, ScriptedServer, testParts } from '../testing.ts'
import { settable } from '../testing-known.ts'
import { passAsPrimary, passAsReplica } from '../testing-passes.ts'

const { source } = replicaOfEpoch3
const delay: ChangedSetting = { name: 'SOURCE_DELAY', seen: '600', wanted: '0' }
const retry: ChangedSetting = { name: 'SOURCE_RETRY_COUNT', seen: '3', wanted: '1000000000' }
const rows: ChangedSetting = { name: 'REQUIRE_ROW_FORMAT', seen: 'YES', wanted: 'NO' }

function following(...changed: readonly ChangedSetting[]) {
  const channel = {
    sourceHost: source.host,
    sourcePort: source.port,
    sourceUser: replicationUser('shop-0'),
    semiSync: false,
    ...(changed.length > 0 ? { changedOptions: changed } : {}),
  }
  return aServerState({ readOnly: true, superReadOnly: true, semiSyncSource: { enabled: false }, channel })
}

async function replica(...changed: readonly ChangedSetting[]) {
  const server = new ScriptedServer(following(...changed))
  const parts = await testParts(server)
  settable(parts).told.trustsAssignment = true
  const pass = () => passAsReplica(parts, replicaOfEpoch3, server.state)
  const said = () => parts.notices.list.map(({ code, sentence }) => `${code}: ${String(sentence)}`)
  return { server, parts, pass, said }
}

it('A replica that somebody delayed has its delay lifted with its receiver left as it is, and says what it was', async () => {
  const { server, pass, said } = await replica(delay)
  await pass()
  expect(server.calls).toEqual(['setApplierOptions'])
  expect(said()).toEqual(['ChannelOptionPutRight: SOURCE_DELAY is 0 again (by another hand it was 600)'])
})

it('What the receiver stands in the way of is put right with the source, and the applier left as it is', async () => {
  const { server, pass, said } = await replica(retry)
  await pass()
  expect(server.calls.slice(0, 4)).toEqual([
    'stopReceiver',
    'semiSyncReplica off',
    `pointTo ${source.host}`,
    'startReceiver',
  ])
  expect(server.calls).not.toContain('stopApplier')
  expect(said()).toEqual(['ChannelOptionPutRight: SOURCE_RETRY_COUNT is 1000000000 again (by another hand it was 3)'])
})

it('What both threads stand in the way of waits until everything received is applied, says so, and the receiver goes on meanwhile', async () => {
  const { server, pass, said } = await replica(rows)
  server.setStoppedOptions = async () => false
  await pass()
  expect(server.calls).toEqual(['startReceiver'])
  expect(said()).toEqual([
    'ChannelOptionWaits: REQUIRE_ROW_FORMAT is YES by another hand; put right once everything received is applied, else that would be thrown away',
  ])
})

it('A change that does not help is not tried with each look, and the same change made again later is put right at once', async () => {
  const { server, pass } = await replica(retry)
  const times = () => server.calls.filter((call) => call.startsWith('pointTo')).length
  await pass()
  await pass()
  expect(times()).toBe(1)
  server.state = following()
  await pass()
  server.state = following(retry)
  await pass()
  expect(times()).toBe(2)
})

it('A refused login is tried again with the password given anew', async () => {
  const { server, parts, pass } = await replica()
  settable(parts).course.converged = { revision: replicaOfEpoch3.revision, done: false, sentence: '' }
  const channel = server.state.channel
  if (channel === null) throw new Error('it has a channel')
  server.state = {
    ...server.state,
    channel: { ...channel, ioRunning: 'connecting', ioError: "Access denied for user 'regent_r_0'", ioErrno: 1045 },
  }
  await pass()
  expect(server.calls).toEqual(['stopReceiver', `pointTo ${source.host}`, 'startReceiver'])
})

it('An opening lifts a delay before it waits for what is received, and so does who makes ready to lead', async () => {
  const { server, parts } = await replica(delay)
  await passAsPrimary(parts, primaryOfEpoch3, server.state)
  const order = ['stopReceiver', 'setApplierOptions', 'open'].map((call) => server.calls.indexOf(call))
  expect(order).toEqual(order.toSorted((a, b) => a - b))
  expect(server.calls.findIndex((call) => call.startsWith('waitExecuted'))).toBeGreaterThan(order[1] ?? Infinity)

  const next = await replica(delay)
  await next.parts.observer.refresh()
  settable(next.parts).course.promiseReport = { epoch: 4, holds: '', executed: '', asPrimary: false }
  await prepareToLead(next.parts)
  expect(next.server.calls.slice(0, 4)).toEqual([
    'offline on',
    'killForeignSessions',
    'setApplierOptions',
    'startApplier',
  ])
})

it('Options are compared as the server shows them, by its version, and one that it does not know is left out', () => {
  const row = {
    DESIRED_DELAY: 600,
    HEARTBEAT_INTERVAL: '0.500',
    PRIVILEGE_CHECKS_USER: null,
    NETWORK_INTERFACE: '10.0.0.9',
    SSL_ALLOWED: 'NO',
    AUTO_POSITION: '0',
  }
  const seen = (encrypts: boolean) =>
    reported(changedOptionsIn(row, encrypts)).map(({ name, seen: value }) => `${name} ${value}`)
  expect(seen(false)).toEqual(['SOURCE_DELAY 600', 'SOURCE_BIND 10.0.0.9', 'SOURCE_AUTO_POSITION 0'])
  expect(seen(true)).toEqual(['SOURCE_DELAY 600', 'SOURCE_BIND 10.0.0.9', 'SOURCE_AUTO_POSITION 0', 'SOURCE_SSL NO'])
  expect(optionsToSet(row, { encrypts: false, stopped: 'applier' })).toEqual(['SOURCE_DELAY = 0'])
  expect(optionsToSet(undefined, { encrypts: true, stopped: 'receiver', isWhole: true })).toEqual([
    'SOURCE_CONNECT_RETRY = 1',
    'SOURCE_RETRY_COUNT = 1000000000',
    'SOURCE_HEARTBEAT_PERIOD = 0.5',
    'GET_SOURCE_PUBLIC_KEY = 1',
    'SOURCE_SSL = 1',
  ])
})

/** By a hand, as the server shows it, and what puts it right with which thread stopped. */
const byHand: readonly (readonly [
  name: string,
  column: string,
  seen: string | number | null,
  stopped: StoppedThread,
  put: string,
])[] = [
  ['SOURCE_DELAY', 'DESIRED_DELAY', 600, 'applier', '0'],
  ['PRIVILEGE_CHECKS_USER', 'PRIVILEGE_CHECKS_USER', "'app'@'%'", 'applier', 'NULL'],
  ['REQUIRE_TABLE_PRIMARY_KEY_CHECK', 'REQUIRE_TABLE_PRIMARY_KEY_CHECK', 'ON', 'applier', 'STREAM'],
  ['SOURCE_CONNECT_RETRY', 'CONNECTION_RETRY_INTERVAL', 60, 'receiver', '1'],
  ['SOURCE_RETRY_COUNT', 'CONNECTION_RETRY_COUNT', 3, 'receiver', '1000000000'],
  ['SOURCE_HEARTBEAT_PERIOD', 'HEARTBEAT_INTERVAL', '30.000', 'receiver', '0.5'],
  ['GET_SOURCE_PUBLIC_KEY', 'GET_PUBLIC_KEY', 'NO', 'receiver', '1'],
  ['SOURCE_PUBLIC_KEY_PATH', 'PUBLIC_KEY_PATH', '/tmp/key', 'receiver', "''"],
  ['SOURCE_BIND', 'NETWORK_INTERFACE', '10.0.0.9', 'receiver', "''"],
  ['NETWORK_NAMESPACE', 'NETWORK_NAMESPACE', 'other', 'receiver', "''"],
  ['SOURCE_COMPRESSION_ALGORITHMS', 'COMPRESSION_ALGORITHM', 'zstd', 'receiver', "'uncompressed'"],
  ['SOURCE_SSL', 'SSL_ALLOWED', 'NO', 'receiver', '1'],
  ['SOURCE_SSL_CA', 'SSL_CA_FILE', '/tmp/ca', 'receiver', "''"],
  ['SOURCE_SSL_CAPATH', 'SSL_CA_PATH', '/tmp', 'receiver', "''"],
  ['SOURCE_SSL_CERT', 'SSL_CERTIFICATE', '/tmp/cert', 'receiver', "''"],
  ['SOURCE_SSL_KEY', 'SSL_KEY', '/tmp/key', 'receiver', "''"],
  ['SOURCE_SSL_CIPHER', 'SSL_CIPHER', 'NULL-SHA', 'receiver', "''"],
  ['SOURCE_SSL_CRL', 'SSL_CRL_FILE', '/tmp/crl', 'receiver', "''"],
  ['SOURCE_SSL_CRLPATH', 'SSL_CRL_PATH', '/tmp', 'receiver', "''"],
  ['SOURCE_SSL_VERIFY_SERVER_CERT', 'SSL_VERIFY_SERVER_CERTIFICATE', 'YES', 'receiver', '0'],
  ['SOURCE_TLS_VERSION', 'TLS_VERSION', 'TLSv1.1', 'receiver', "''"],
  ['SOURCE_TLS_CIPHERSUITES', 'TLS_CIPHERSUITES', 'TLS_AES_128_CCM_SHA256', 'receiver', 'NULL'],
  ['REQUIRE_ROW_FORMAT', 'REQUIRE_ROW_FORMAT', 'YES', 'both', '0'],
  ['GTID_ONLY', 'GTID_ONLY', 1, 'both', '0'],
  ['SOURCE_CONNECTION_AUTO_FAILOVER', 'SOURCE_CONNECTION_AUTO_FAILOVER', 1, 'both', '0'],
  ['ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS', 'ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS_TYPE', 'LOCAL', 'both', 'OFF'],
  ['SOURCE_AUTO_POSITION', 'AUTO_POSITION', 0, 'both', '1'],
]

it.each(byHand)(
  '%s is seen in %s when it is %s by hand, and put right with its thread stopped (%s)',
  (...[name, column, seen, stopped, put]) => {
    const row = { [column]: seen }
    expect(reported(changedOptionsIn(row, true)).map((one) => [one.name, one.seen])).toEqual([[name, String(seen)]])
    const threads = ['applier', 'receiver', 'both'] as const
    expect(
      threads.flatMap((thread) => optionsToSet(row, { encrypts: true, stopped: thread }).map((text) => [thread, text])),
    ).toEqual([[stopped, `${name} = ${put}`]])
  },
)
