import type { World } from '../src/common/ports.ts'
import { parseGtidSet } from '../topology/gtid-set.ts'
import { literal } from './accounts.ts'
import type { SqlConnection } from './sql-connection.ts'

/** The replication channel in SQL. Names of MySQL ≥ 8.0.23. */
export class ReplicationSql {
  readonly #sql: SqlConnection
  readonly #deadlineMs: number

  constructor(sql: SqlConnection, deadlineMs: number) {
    this.#sql = sql
    this.#deadlineMs = deadlineMs
  }

  async received(): Promise<string> {
    const [row] = await this.#run("SELECT RECEIVED_TRANSACTION_SET AS received FROM performance_schema.replication_connection_status WHERE CHANNEL_NAME = ''")
    return typeof row?.['received'] === 'string' ? row['received'].replace(/\s+/g, '') : ''
  }

  async stopReceiver(): Promise<void> {
    if (await this.#hasChannel()) await this.#run('STOP REPLICA IO_THREAD', 4)
  }

  async startReceiver(): Promise<void> {
    await this.#run('START REPLICA IO_THREAD')
  }

  async startApplier(): Promise<void> {
    if (await this.#hasChannel()) await this.#run('START REPLICA SQL_THREAD')
  }

  async stopApplier(): Promise<void> {
    if (await this.#hasChannel()) await this.#run('STOP REPLICA SQL_THREAD', 4)
  }

  /**
   * With both threads stopped CHANGE REPLICATION SOURCE throws received, unapplied transactions away. So while some are left the applier runs, and
   * SOURCE_AUTO_POSITION, which needs it stopped, is left out: it is in force from the first time.
   */
  async pointTo(source: { host: string; port: number; user: string; password: string }): Promise<void> {
    const [row] = await this.#run("SELECT RECEIVED_TRANSACTION_SET AS received, @@global.gtid_executed AS executed FROM performance_schema.replication_connection_status WHERE CHANNEL_NAME = ''")
    const unapplied = row !== undefined && !parseGtidSet(String(row['executed'])).contains(parseGtidSet(String(row['received'])))
    const fields = [
      `SOURCE_HOST = ${literal(source.host)}`,
      `SOURCE_PORT = ${source.port}`,
      `SOURCE_USER = ${literal(source.user)}`,
      `SOURCE_PASSWORD = ${literal(source.password)}`,
      'SOURCE_CONNECT_RETRY = 1',
      'SOURCE_RETRY_COUNT = 0',
      'SOURCE_HEARTBEAT_PERIOD = 0.5',
      'GET_SOURCE_PUBLIC_KEY = 1',
    ]
    if (unapplied) await this.#run('START REPLICA SQL_THREAD')
    else {
      if (row !== undefined) await this.#run('STOP REPLICA SQL_THREAD', 4)
      fields.push('SOURCE_AUTO_POSITION = 1')
    }
    await this.#run(`CHANGE REPLICATION SOURCE TO ${fields.join(', ')}`, 4)
  }

  async forgetSource(): Promise<void> {
    if (!(await this.#hasChannel())) return
    await this.#run('STOP REPLICA', 4)
    await this.#run('RESET REPLICA ALL', 4)
  }

  async clearFilters(): Promise<void> {
    await this.#run('STOP REPLICA SQL_THREAD', 4)
    await this.#run(
      'CHANGE REPLICATION FILTER REPLICATE_DO_DB = (), REPLICATE_IGNORE_DB = (), REPLICATE_DO_TABLE = (), REPLICATE_IGNORE_TABLE = (), REPLICATE_WILD_DO_TABLE = (), REPLICATE_WILD_IGNORE_TABLE = (), REPLICATE_REWRITE_DB = ()',
    )
    await this.#run('START REPLICA SQL_THREAD')
  }

  async waitExecuted(set: string, waitMs: number): Promise<boolean> {
    if (set === '') return true
    const [row] = await this.#sql.query(`SELECT WAIT_FOR_EXECUTED_GTID_SET(${literal(set)}, ${waitMs / 1_000}) AS late`, waitMs + this.#deadlineMs)
    return Number(row?.['late']) === 0
  }

  /** Nothing in the server waits for reception, so this looks again every few milliseconds. */
  async waitReceived(set: string, waitMs: number, { clock, timers }: World): Promise<boolean> {
    const wanted = parseGtidSet(set)
    const until = clock.monotonicMs() + waitMs
    for (;;) {
      const received = await this.received()
      const [row] = await this.#run('SELECT @@global.gtid_executed AS executed')
      if (parseGtidSet(String(row?.['executed'] ?? '')).union(parseGtidSet(received)).contains(wanted)) return true
      if (clock.monotonicMs() >= until) return false
      await timers.sleep(2)
    }
  }

  async #hasChannel(): Promise<boolean> {
    return (await this.#run("SELECT 1 FROM performance_schema.replication_connection_configuration WHERE CHANNEL_NAME = '' AND HOST <> ''")).length > 0
  }

  #run(statement: string, deadlines = 1) {
    return this.#sql.query(statement, this.#deadlineMs * deadlines)
  }
}
