import { describe, expect, it } from 'vitest'
import { restsDurabilityOn, wantedAtRuntime } from '#failover/settings/runtime.ts'
import { settingsTable } from '#failover/settings/table.ts'
import { isSameValue } from '#failover/settings/setting.ts'
import { inGroup, outsideGroup, type GroupShape } from '#topology/testing-group.ts'
import type { ServerState } from '#topology/snapshot/observation.ts'
import { settingsSteps } from './managed-settings.ts'
import { aServerState, anAgentConfig, primaryOfEpoch3, ScriptedServer, testParts } from '../testing.ts'
import { changeLife, settable } from '../testing-known.ts'
import { volumeLayout } from '../instance/volume-layout.ts'
import { opened, passAsPrimary } from '../testing-passes.ts'

const open = { openGates: ['shop-1', 'shop-2'], channel: null } as const

async function openPrimary(server: ScriptedServer) {
  const parts = await testParts(server)
  await parts.file.update({ promise: 3, revision: 10, assignment: primaryOfEpoch3 })
  changeLife(parts, { stage: opened, markedRevision: 10 })
  const pass = () => passAsPrimary(parts, primaryOfEpoch3, server.state)
  const said = () => parts.notices.list.map(({ code, sentence }) => `${code}: ${String(sentence)}`)
  return { parts, pass, said }
}

it('A setting that durability rests on is put right once it is on disk that the tail is unsettled, and a marker is written after', async () => {
  const changedSettings = [{ name: 'sync_binlog', seen: '0', wanted: '1' }]
  const server = new ScriptedServer(
    aServerState({ ...open, changedSettings, semiSyncSource: { enabled: true, acks: 1 } }),
  )
  const { parts, pass, said } = await openPrimary(server)
  const unsettled: boolean[] = []
  server.setSetting = async (name, value) => {
    unsettled.push(parts.file.current.unsettled)
    server.calls.push(`set ${name} ${value}`)
    server.state = aServerState({ ...open, semiSyncSource: { enabled: true, acks: 1 } })
  }
  await pass()
  expect(unsettled).toEqual([true])
  expect(said()).toContain('SettingPutRight: sync_binlog is 1 again (by another hand it was 0)')
  await expect.poll(() => parts.file.current.unsettled).toBe(false)
  expect(server.calls.indexOf('marker 1')).toBeGreaterThan(server.calls.indexOf('set sync_binlog 1'))
})

it('Another setting is put right without any doubt, and a refusal is said', async () => {
  const changedSettings = [{ name: 'replica_net_timeout', seen: '60', wanted: '5' }]
  const server = new ScriptedServer(
    aServerState({ ...open, changedSettings, semiSyncSource: { enabled: true, acks: 1 } }),
  )
  const { parts, pass, said } = await openPrimary(server)
  server.setSetting = async () => Promise.reject(new Error('no'))
  await pass()
  expect(parts.file.current.unsettled).toBe(false)
  expect(said()).toContain('SettingStays: replica_net_timeout is 60 by another hand and could not be set to 5: no')
})

it('What begins another binary log is left while something waits for an acknowledgement', async () => {
  const changedSettings = [{ name: 'binlog_checksum', seen: 'NONE', wanted: 'CRC32' }]
  const server = new ScriptedServer(
    aServerState({ ...open, changedSettings, semiSyncSource: { enabled: true, acks: 1, waiting: 1 } }),
  )
  const { pass } = await openPrimary(server)
  await pass()
  expect(server.calls).not.toContain('set binlog_checksum CRC32')
})

describe('A setting of a group', () => {
  const changed = (name: string, seen: string, wanted: string) => [{ name: `group_replication_${name}`, seen, wanted }]

  async function callsWith(sees: GroupShape, changedSettings: ServerState['changedSettings'], starts = false) {
    const state = aServerState(inGroup('shop-0', sees, { changedSettings: changedSettings ?? [] }))
    const server = new ScriptedServer(state)
    const parts = await testParts(server)
    if (starts) settable(parts).jobs.startingGroup = new Promise(() => undefined)
    await settingsSteps.putSettingsRight(parts, { state })
    return server.calls
  }

  it('that all agree on is put right outside of the group alone: the server refuses it to a member', async () => {
    const mode = changed('single_primary_mode', '0', 'ON')
    expect(await callsWith({}, mode)).toEqual([])
    expect(await callsWith(outsideGroup(), mode, true)).toEqual([])
    expect(await callsWith(outsideGroup(), mode)).toEqual(['set group_replication_single_primary_mode ON'])
  })

  it('by which a group is formed is the agent’s own while the agent forms one', async () => {
    const forms = changed('bootstrap_group', '1', 'OFF')
    expect(await callsWith(outsideGroup(), forms, true)).toEqual([])
    expect(await callsWith({}, forms)).toEqual(['set group_replication_bootstrap_group OFF'])
  })

  it('is put right in a member as well', async () => {
    const stack = changed('communication_stack', 'XCOM', 'MYSQL')
    expect(await callsWith({}, stack)).toEqual(['set group_replication_communication_stack MYSQL'])
  })
})

it('Every setting that is watched is managed or has a choice of values, and its value is the one of the configuration file', () => {
  const config = anAgentConfig()
  const valuesIn = (wanted: ReturnType<typeof wantedAtRuntime>) =>
    Object.fromEntries([...wanted].map(([name, { valueFor }]) => [name, valueFor('')]))
  const wanted = wantedAtRuntime({ ...config, ...volumeLayout(config.volume), serverId: 35 })
  // While it is otherwise, a session of a client that begins cannot write.
  expect([...wanted].filter(([, { refusesWrites }]) => refusesWrites).map(([name]) => name)).toEqual([
    'transaction_read_only',
  ])
  expect(valuesIn(wanted)).toMatchObject({
    server_id: '35',
    sync_binlog: '1',
    gtid_mode: 'ON',
    binlog_error_action: 'ABORT_SERVER',
    replica_exec_mode: 'STRICT',
    require_secure_transport: 'OFF',
    transaction_read_only: 'OFF',
    max_user_connections: '0',
  })
  expect([...wanted.keys()].filter((name) => name.startsWith('group_replication_'))).toEqual([])
  const asMember = wantedAtRuntime({ ...config, ...volumeLayout(config.volume), mode: 'group' })
  expect(valuesIn(asMember)).toMatchObject({
    group_replication_exit_state_action: 'OFFLINE_MODE',
    group_replication_member_expel_timeout: '0',
  })
  expect([isSameValue('1', 'ON'), isSameValue('OFF', 'ON'), isSameValue('crc32', 'CRC32')]).toEqual([true, false, true])
})

it('A setting with a choice of values is left as people set it, and put right where the value is none of these', () => {
  const config = anAgentConfig()
  const packet = wantedAtRuntime({ ...config, ...volumeLayout(config.volume) }).get('max_allowed_packet')
  expect([packet?.isRight('134217728'), packet?.isRight('1024'), packet?.valueFor('1024')]).toEqual([
    true,
    false,
    '67108864',
  ])
})

it('A word that a list must not have is taken out of the list, in mode group, and the rest stays as people set it', () => {
  const config = anAgentConfig()
  const wantedIn = (mode: 'semisync' | 'group') =>
    wantedAtRuntime({ ...config, ...volumeLayout(config.volume), mode }).get('sql_mode')
  expect(wantedIn('semisync')).toBeUndefined()
  const wanted = wantedIn('group')
  const seen = 'PIPES_AS_CONCAT,PAD_CHAR_TO_FULL_LENGTH,ANSI'
  expect([wanted?.isRight(seen), wanted?.valueFor(seen)]).toEqual([false, 'PIPES_AS_CONCAT,ANSI'])
  expect(['', 'PIPES_AS_CONCAT,ANSI'].map((one) => wanted?.isRight(one))).toEqual([true, true])
})

it('The settings that durability rests on are known', () => {
  expect(
    settingsTable
      .map(({ name }) => name)
      .filter(restsDurabilityOn)
      .toSorted(),
  ).toEqual([
    'binlog_error_action',
    'binlog_order_commits',
    'innodb_doublewrite',
    'innodb_flush_log_at_trx_commit',
    'sync_binlog',
  ])
})
