import { describe, expect, it } from 'vitest'
import { managedIn } from './persisted-settings.ts'

const variable = { Value: 'OFF', Metadata: { Host: '', User: 'admin', Timestamp: 1 } }

describe('persisted settings', () => {
  it('are the managed ones of mysqld-auto.cnf, in whatever group', () => {
    const file = {
      Version: 2,
      mysql_dynamic_parse_early_variables: { super_read_only: variable, long_query_time: variable },
      mysql_static_variables: { relay_log_recovery: variable },
    }
    expect(managedIn(JSON.stringify(file))).toEqual(['relay_log_recovery', 'super_read_only'])
  })

  it('of the older nesting are found too', () => {
    expect(
      managedIn(
        JSON.stringify({
          Version: 1,
          mysql_server: { mysql_server_static_options: { log_replica_updates: variable }, max_connections: variable },
        }),
      ),
    ).toEqual(['log_replica_updates'])
  })

  it.each([[''], ['{"Version": 2, "mysql'], ['null'], ['{}']])('are none in %j', (text) => {
    expect(managedIn(text)).toEqual([])
  })
})
