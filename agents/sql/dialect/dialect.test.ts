import { describe, expect, it } from 'vitest'
import { dialectFor, dialects, olderName } from './dialect.ts'

describe('The dialect of a server', () => {
  it.each([
    ['9.7.4-2', 'MySQL 9', 'SHOW REPLICA STATUS', 'SHOW BINARY LOG STATUS'],
    ['8.4.6', 'MySQL 8.4', 'SHOW REPLICA STATUS', 'SHOW BINARY LOG STATUS'],
    ['8.0.36-28-log', 'MySQL 8.0', 'SHOW REPLICA STATUS', 'SHOW MASTER STATUS'],
    ['8.0.19', 'MySQL 8.0 before 8.0.26', 'SHOW SLAVE STATUS', 'SHOW MASTER STATUS'],
    ['5.7.44-log', 'MySQL 5.7', 'SHOW SLAVE STATUS', 'SHOW MASTER STATUS'],
    ['5.6.24', 'MySQL 5.6', 'SHOW SLAVE STATUS', 'SHOW MASTER STATUS'],
    ['5.5.9', 'MySQL before 5.6', 'SHOW SLAVE STATUS', 'SHOW MASTER STATUS'],
    ['10.11.19-MariaDB-0+deb12u1-log', 'MariaDB', 'SHOW ALL SLAVES STATUS', 'SHOW MASTER STATUS'],
    ['5.5.5-10.3.39-MariaDB', 'MariaDB before 10.5.9', 'SHOW ALL SLAVES STATUS', 'SHOW MASTER STATUS'],
  ])('of version %s is that of %s', (version, name, showReplica, showBinlog) => {
    expect(dialectFor(version)).toMatchObject({ name, showReplica, showBinlog })
  })

  it('is not known of what no row knows', () => {
    expect(dialectFor('4.1.22')).toBeUndefined()
  })

  it('knows old names by the new ones', () => {
    expect(
      ['Source_Host', 'Read_Source_Log_Pos', 'Seconds_Behind_Source', 'Replica_IO_Running', 'log_replica_updates'].map(
        olderName,
      ),
    ).toEqual(['Master_Host', 'Read_Master_Log_Pos', 'Seconds_Behind_Master', 'Slave_IO_Running', 'log_slave_updates'])
  })

  it('of each product begins with the newest, so that the first row that fits is the right one', () => {
    for (const product of ['MySQL', 'MariaDB']) {
      const since = dialects.filter((row) => row.product === product).map((row) => row.since)
      expect(since).toEqual(since.toSorted((one, other) => other[0] - one[0] || other[1] - one[1] || other[2] - one[2]))
    }
  })
})
