import { expect, it } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { StateReader } from './state.ts'
import type { Sql } from './connections/statements.ts'
import { ChannelPulse } from './replication/channel.ts'
import { PersistedSettings } from './settings/persisted-settings.ts'

it('A server whose files cannot be read still says how it is', async () => {
  const readAll = (asked: readonly string[]) =>
    Promise.resolve(asked.length === 2 ? [[{ version: '9.7.4' }], []] : asked.map(() => []))
  const sql = {
    readAll,
    read: () => Promise.resolve([]),
    countdown: (ms: number) => () => ms,
    until: (look: () => Promise<boolean>) => Promise.resolve().then(look),
  } as unknown as Sql
  const unreadable = () => Promise.reject(new Error('EACCES'))
  const persisted = Object.assign(new PersistedSettings('/nowhere'), { names: unreadable })
  const pulse = new ChannelPulse(realWorld.clock, { encrypts: false })
  const reader = new StateReader('shop', sql, {
    ...{ persisted, pulse, serverId: unreadable },
    wanted: new Map(),
    account: null,
  })
  expect(await reader.read(1_000)).toMatchObject({ persisted: [], dumpThreads: [] })
})
