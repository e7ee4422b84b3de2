import { describe, expect, it } from 'vitest'
import { dialectOf } from './dialect.ts'

describe('the server’s dialect', () => {
  it.each([
    ['8.0.26', 'SHOW MASTER STATUS'],
    ['8.1.0', 'SHOW MASTER STATUS'],
    ['8.2.0', 'SHOW BINARY LOG STATUS'],
    ['9.7.4-2', 'SHOW BINARY LOG STATUS'],
    ['10.0.1-debug', 'SHOW BINARY LOG STATUS'],
  ])('of %s asks for the newest binary log by %s', (version, statement) => {
    expect(dialectOf(version).showBinlog).toBe(statement)
  })

  it.each([
    ['8.0.26', "SELECT group_replication_set_as_primary('a-uuid')"],
    ['8.0.28', "SELECT group_replication_set_as_primary('a-uuid')"],
    ['8.0.29', "SELECT group_replication_set_as_primary('a-uuid', 5)"],
    ['8.4.6', "SELECT group_replication_set_as_primary('a-uuid', 5)"],
    ['9.7.4-2', "SELECT group_replication_set_as_primary('a-uuid', 5)"],
  ])('of %s has a group elect another primary by %s', (version, statement) => {
    expect(dialectOf(version).electPrimary("'a-uuid'", 5)).toBe(statement)
  })
})
