import { describe, expect, it } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { aServerState, ScriptedServer, testParts } from '#agents/testing.ts'
import { reconfigure, settingsIn } from './reconfigure.ts'

const patience = { deadlineMs: 1_000, signal: new AbortController().signal }

describe('reconfigure', () => {
  it('sets each setting by its name, and says until when', async () => {
    const server = new ScriptedServer(aServerState())
    const parameters = { 'max-connections': '300', long_query_time: '0.5', KB_CONFIG_FILES_UPDATED: 'x:y' }
    const result = await reconfigure(await testParts(server)).run(parameters, patience)
    expect(result).toMatchObject({ ok: true })
    expect(result.ok && result.output.toString()).toBe(
      'set until mysqld starts again: max_connections, long_query_time',
    )
    expect(server.calls).toEqual(['set max_connections 300', 'set long_query_time 0.5'])
  })

  it('takes what a caller sends beside settings for none', () => {
    const parameters = {
      max_connections: '300',
      MAX_CONNECTIONS: '300',
      CLUSTER_NAME: 'shop',
      KB_CONFIG_FILES_CREATED: '',
    }
    expect([...settingsIn(parameters)]).toEqual([['max_connections', '300']])
  })

  it('takes sizes as a file has them', () => {
    expect([...settingsIn({ innodb_buffer_pool_size: '256M' })]).toEqual([['innodb_buffer_pool_size', '268435456']])
  })

  it.each<readonly [Record<string, string>, RegExp]>([
    [{ sync_binlog: '0' }, /Regent manages sync_binlog/],
    [{ max_connections: '90', super_read_only: 'OFF' }, /Regent manages super_read_only/],
    [{ rpl_semi_sync_source_timeout: '1' }, /not for you to set/],
    [{ gtid_purged: 'x' }, /gtid_purged is not for you to set/],
    [{ sql_slave_skip_counter: '1' }, /sql_slave_skip_counter is not for you to set/],
    [{ 'a = 1, b': '1' }, /no name of a server variable/],
    [{ init_connect: 'a\\' }, /has a backslash/],
    [{ KB_CONFIG_FILES_UPDATED: 'x:y' }, /no parameter names a setting/],
  ])('refuses %o and sets nothing', async (parameters, message) => {
    const server = new ScriptedServer(aServerState())
    await expect(reconfigure(await testParts(server)).run(parameters, patience)).rejects.toThrow(message)
    expect(server.calls).toEqual([])
  })

  it('stops at a setting that the server does not take, and says what was set before', async () => {
    const server = failing(new ScriptedServer(aServerState()), 'innodb_page_cleaners')
    const refused = await reconfigure(await testParts(server)).run(
      { max_connections: '90', innodb_page_cleaners: '1', table_open_cache: '1' },
      patience,
    )
    expect(refused).toEqual({
      ok: false,
      error: 'failed',
      message:
        'innodb_page_cleaners could not be set while mysqld runs; set before: max_connections: read only (1238): failed',
    })
  })
})

function failing(server: ScriptedServer, name: string): ScriptedServer {
  server.setSetting = async (given) => {
    if (given === name) throw new RegentError('REGENT_SERVER_ERROR', say`read only (1238)`)
  }
  return server
}
