import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerFacts } from '#failover/settings/setting.ts'
import { serverSettings } from '#failover/settings/table.ts'
import { until } from '../support/bare-instance.ts'
import { BareGroup, clientAccount, type BareMember } from '../support/bare-group.ts'
import { GroupWriter } from '../support/group-writer.ts'
import { removeTemplate, rows } from '../support/lone-server.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { makeServerWritesTable, pauseAtServers } from '../support/server-writes.ts'
import { openSession } from '../support/sql-session.ts'
import type { Event } from '../support/episode.ts'
import { pauseAtTheServers } from './cases.ts'
import type { CaseResult } from './report.ts'

export interface BareCase {
  readonly name: string
  readonly event: Exclude<Event, 'cut'> | 'switchover at the servers'
  readonly runs: number
  readonly instances: number
  readonly told: (line: string) => void
}

const firstPort = 24_500
const restMs = 1_000
const frozenMs = 10_000
const outage = 'outage seen by the client'
const back = 'back, and counted'
const stall = 'longest pause of writes meanwhile'

/**
 * A group of servers with Regent’s settings of the group and nobody to watch over them: what the group does by itself.
 * A member that went is started again here, as an operator would, once another one leads.
 */
export async function measureBareGroup({ name, event, runs, instances, told }: BareCase): Promise<CaseResult> {
  const group = await BareGroup.start(firstPort, instances, 'mysql', groupSettings())
  const writer = new GroupWriter(group.members)
  const samples = new Map<string, number[]>()
  try {
    for (let run = 1; run <= runs; run++) {
      await sleep(restMs)
      const values = await happens(event, group, writer)
      for (const [what, value] of Object.entries(values)) samples.set(what, [...(samples.get(what) ?? []), value])
      told(`${name}, bare group ${run}/${runs}: ${describeValues(values)}`)
    }
    await writer.stop()
    const lost = await lostOf(group, writer)
    return { name: `${name}, bare group`, unit: 'ms', samples, lost, acknowledged: writer.acknowledged.length }
  } finally {
    await writer.stop()
    await group.remove()
    await removeTemplate()
  }
}

/** What Regent sets of a group, but for where it speaks and to whom. */
function groupSettings(): readonly string[] {
  const facts = { mode: 'group', host: '', port: 0 } as ServerFacts
  return serverSettings.flatMap(({ name, value }) => {
    if (!name.startsWith('group_replication_') || name === 'group_replication_local_address') return []
    const text = typeof value === 'function' ? value(facts) : value
    return text === undefined ? [] : [`--loose-${name.replaceAll('_', '-')}=${text}`]
  })
}

type Values = Readonly<Record<string, number>>

function happens(event: BareCase['event'], group: BareGroup, writer: GroupWriter): Promise<Values> {
  switch (event) {
    case 'switchover at the servers':
      return handOverAtTheServers(group)
    case 'switchover':
      return handOver(group, writer)
    case 'kill':
    case 'freeze':
      return lose(group, writer, event)
  }
}

async function handOverAtTheServers(group: BareGroup): Promise<Values> {
  const { from, to } = await nextOf(group)
  await from.root.query(makeServerWritesTable)
  const sessionsAt = ({ host, port }: BareMember) => {
    return () => openSession({ host, port, ...clientAccount }, 2_000)
  }
  return { [pauseAtTheServers]: await pauseAtServers(group.members.map(sessionsAt), () => elect(to)) }
}

async function handOver(group: BareGroup, writer: GroupWriter): Promise<Values> {
  const { from, to } = await nextOf(group)
  const { ackedMs } = await writer.next(monotonicMs())
  await elect(to)
  await writer.next(monotonicMs(), from)
  return { [outage]: writer.longestPauseMs(ackedMs) }
}

/** The primary, and who is to be primary next. */
async function nextOf(group: BareGroup): Promise<{ readonly from: BareMember; readonly to: BareMember }> {
  const from = await primaryOf(group)
  return { from, to: group.members.find((member) => member !== from) as BareMember }
}

function elect({ root }: BareMember): Promise<unknown> {
  return root.query('select group_replication_set_as_primary(@@server_uuid)')
}

async function lose(group: BareGroup, writer: GroupWriter, event: 'kill' | 'freeze'): Promise<Values> {
  const victim = await primaryOf(group)
  await writer.next(monotonicMs())
  const atMs = monotonicMs()
  victim.server.signal(event === 'kill' ? 'SIGKILL' : 'SIGSTOP')
  const first = await writer.next(atMs, victim)
  if (event === 'freeze') {
    await sleep(Math.max(0, atMs + frozenMs - monotonicMs()))
    await victim.server.kill()
  }
  await victim.server.ended()
  const endedMs = monotonicMs()
  await group.boot(victim)
  await group.join(victim)
  return {
    [outage]: first.ackedMs - atMs,
    [back]: monotonicMs() - endedMs,
    [stall]: writer.longestPauseMs(endedMs),
  }
}

async function primaryOf(group: BareGroup): Promise<BareMember> {
  let primary: BareMember | undefined
  await until(async () => {
    const [member] = await group.online()
    primary = member && (await group.primary(member))
    return primary !== undefined
  }, 'the group has a primary')
  return primary as BareMember
}

/** How many acknowledged writes the primary does not have. */
async function lostOf(group: BareGroup, writer: GroupWriter): Promise<number> {
  const { root } = await primaryOf(group)
  const ids = new Set((await rows<{ id: number }>(root, 'select id from app.writes')).map(({ id }) => id))
  return writer.acknowledged.filter(({ id }) => !ids.has(id)).length
}

function describeValues(values: Values): string {
  return Object.entries(values)
    .map(([what, value]) => `${what} ${Math.round(value)} ms`)
    .join(', ')
}
