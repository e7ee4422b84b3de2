import { describe, expect, it } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Row } from './connections/statements.ts'
import { recordEvents, setEvents } from './events.ts'
import type { Sql } from './connections/statements.ts'

interface Event {
  readonly name: string
  readonly status: 'ENABLED' | 'DISABLED' | 'REPLICA_SIDE_DISABLED'
}

/** @param recorded undefined where no primary has recorded anything yet: the table is not there */
function server(events: readonly Event[], recorded?: readonly string[], definer = 'ann@bob@%') {
  const changes: string[] = []
  const rows = (chosen: readonly Event[]): readonly Row[] => chosen.map(({ name }) => ({ place: 'app', name, definer }))
  const read = async (statement: string): Promise<readonly Row[]> => {
    if (statement.includes("STATUS <> 'ENABLED'")) return rows(events.filter(({ status }) => status !== 'ENABLED'))
    if (statement.includes('REPLICA_SIDE_DISABLED'))
      return rows(events.filter(({ status }) => status === 'REPLICA_SIDE_DISABLED'))
    if (recorded === undefined)
      throw new RegentError('REGENT_SERVER_ERROR', say`no such table`, { cause: { errno: 1146 } })
    return recorded.map((name) => ({ place: 'app', name }))
  }
  const change = async (statement: string) => {
    if (statement.includes('`breaks`')) throw new RegentError('REGENT_SERVER_ERROR', say`it has an unknown time zone`)
    changes.push(statement)
    return []
  }
  const sql = { read, change } as unknown as Sql
  return {
    changes,
    on: () => setEvents(sql, true),
    off: () => setEvents(sql, false),
    record: () => recordEvents(sql, change),
  }
}

const moved: readonly Event[] = [
  { name: 'runs', status: 'REPLICA_SIDE_DISABLED' },
  { name: 'rests', status: 'REPLICA_SIDE_DISABLED' },
  { name: 'own', status: 'DISABLED' },
]

describe('events at a new primary', () => {
  it('that a person disabled at the one before stay disabled, those that ran run, each with its definer', async () => {
    const { changes, on } = server(moved, ['rests'])
    await on()
    expect(changes).toEqual([
      "ALTER DEFINER = 'ann@bob'@'%' EVENT `app`.`runs` ENABLE",
      "ALTER DEFINER = 'ann@bob'@'%' EVENT `app`.`rests` DISABLE",
      'SET GLOBAL event_scheduler = ON',
    ])
  })

  it('all run where nobody recorded anything', async () => {
    const { changes, on } = server(moved)
    await on()
    expect(changes.filter((one) => one.endsWith('ENABLE'))).toHaveLength(2)
  })

  it('of a user of a Windows domain run as well', async () => {
    const { changes, on } = server([{ name: 'runs', status: 'REPLICA_SIDE_DISABLED' }], [], 'CORP\\ann@%')
    await on()
    expect(changes).toEqual([
      "ALTER DEFINER = `CORP\\ann`@'%' EVENT `app`.`runs` ENABLE",
      'SET GLOBAL event_scheduler = ON',
    ])
  })

  it('run although the server refuses one of them, which is said', async () => {
    const { changes, on } = server([{ name: 'breaks', status: 'REPLICA_SIDE_DISABLED' }, ...moved], ['rests'])
    await expect(on()).rejects.toThrow('unknown time zone')
    expect(changes).toEqual([
      "ALTER DEFINER = 'ann@bob'@'%' EVENT `app`.`runs` ENABLE",
      "ALTER DEFINER = 'ann@bob'@'%' EVENT `app`.`rests` DISABLE",
      'SET GLOBAL event_scheduler = ON',
    ])
  })

  it('do not run at a replica', async () => {
    const { changes, off } = server(moved, ['rests'])
    await off()
    expect(changes).toEqual(['SET GLOBAL event_scheduler = OFF'])
  })
})

describe('what is recorded of events', () => {
  const hex = (text: string) => `_utf8mb4 X'${Buffer.from(text).toString('hex')}'`

  it('is which do not run, once and only what differs', async () => {
    const { changes, record } = server(
      [
        { name: 'runs', status: 'ENABLED' },
        { name: 'rests', status: 'DISABLED' },
      ],
      ['gone'],
    )
    await record()
    expect(changes).toEqual([
      `INSERT IGNORE INTO regent.disabled_event (place, name) VALUES (${hex('app')}, ${hex('rests')})`,
      `DELETE FROM regent.disabled_event WHERE (place, name) IN ((${hex('app')}, ${hex('gone')}))`,
    ])
  })

  it('begins with the table, and is nothing where all run', async () => {
    const first = server([{ name: 'rests', status: 'DISABLED' }])
    await first.record()
    expect(first.changes.map((one) => one.split(' ').slice(0, 2).join(' '))).toEqual(['CREATE TABLE', 'INSERT IGNORE'])
    const none = server([{ name: 'runs', status: 'ENABLED' }])
    await none.record()
    expect(none.changes).toEqual([])
  })
})
