import { describe, expect, it } from 'vitest'
import { anObservation } from '#topology/testing.ts'
import { learn } from '../instance/learn.ts'
import { Lease } from '../guard/lease.ts'
import { aServerState, ScriptedServer, testParts } from '../testing.ts'
import { agentMetrics } from './agent-metrics.ts'
import { ObservationBuilder } from './observation.ts'

const backups = {
  whole: 3,
  leftovers: 1,
  begun: null,
  newest: { name: '20261126T031209Z', endedAtMs: 1_800_000_000_000, rawBytes: 9, storedBytes: 4, tookMs: 61_500 },
  verified: { name: '20261126T031209Z', verifiedAtMs: 1_800_000_100_000, restoreMs: 90_000 },
  answers: true,
  sentence: '',
  lookedAgoMs: 5,
}
const binlogArchive = { behindMs: 1_500, hole: '', trouble: '' }

const shown = (text: string): readonly string[] => text.split('\n').filter((line) => line.startsWith('regent_backup_'))

describe('metrics of backups', () => {
  it('are not there where no backups are wanted, so that no alert fires', () => {
    expect(shown(agentMetrics(anObservation()))).toEqual([])
  })

  it('show the newest backup, the newest that was proven, how long both took, and how far a restore reaches', () => {
    const labels = '{cluster="demo",instance="demo-1"}'
    expect(shown(agentMetrics(anObservation({ cluster: 'demo', instance: 'demo-1', backups, binlogArchive })))).toEqual(
      [
        `regent_backup_store_answers${labels} 1`,
        `regent_backup_whole${labels} 3`,
        `regent_backup_unfinished${labels} 1`,
        `regent_backup_newest_timestamp_seconds${labels} 1800000000`,
        `regent_backup_newest_bytes${labels} 4`,
        `regent_backup_newest_duration_seconds${labels} 61.5`,
        `regent_backup_verified_timestamp_seconds${labels} 1800000100`,
        `regent_backup_restore_duration_seconds${labels} 90`,
        `regent_backup_recovery_point_seconds${labels} 1.5`,
        `regent_backup_archive_ships${labels} 1`,
        `regent_backup_archive_hole${labels} 0`,
      ],
    )
  })

  it('say that nothing is shipped where no recovery point is known, and that the archive has a hole', () => {
    const stuck = anObservation({ binlogArchive: { behindMs: null, hole: 'it lacks 1', trouble: 'the store is away' } })
    const text = agentMetrics(stuck)
    expect(text).not.toContain('regent_backup_recovery_point_seconds')
    expect(text).toMatch(/^regent_backup_archive_ships\{.*\} 0$/m)
    expect(text).toMatch(/^regent_backup_archive_hole\{.*\} 1$/m)
  })

  it('count failures by kind from zero once the agent was told of backups', async () => {
    const parts = await testParts(new ScriptedServer(aServerState()))
    const observe = () => new ObservationBuilder(parts, new Lease(parts, () => undefined), '0').build()
    expect(observe().backupFailures).toBeUndefined()
    const task = {
      store: { address: 'memory' },
      retention: { last: 3, days: 7, weeks: 4 },
      archive: { everySeconds: 5 },
    }
    learn(parts, { fact: 'backupsTold', task })
    expect(agentMetrics(observe())).toContain(',kind="backup"} 0\n')
    learn(parts, { fact: 'backupWorkFailed', work: 'rehearsal' })
    learn(parts, { fact: 'backupWorkFailed', work: 'rehearsal' })
    const text = agentMetrics(observe())
    expect(text).toContain('# TYPE regent_backup_failures_total counter\n')
    expect(text).toMatch(/^regent_backup_failures_total\{.*,kind="rehearsal"\} 2$/m)
    expect(text).toMatch(/^regent_backup_failures_total\{.*,kind="archive"\} 0$/m)
  })
})
