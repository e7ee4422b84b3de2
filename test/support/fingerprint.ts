import { readdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { Connection } from 'mysql2/promise'
import { rows, value } from './lone-server.ts'

/** Everything of a server that a statement could have changed, in a form that is compared with `toEqual`. */
export interface Fingerprint {
  readonly schema: Readonly<Record<string, readonly unknown[]>>
  readonly checksums: Readonly<Record<string, string>>
  readonly accounts: Readonly<Record<string, readonly unknown[]>>
  readonly xa: readonly unknown[]
  readonly files: readonly string[]
  readonly executed: string
}

const userSchemas = "not in ('mysql', 'information_schema', 'performance_schema', 'sys')"

/** Without times and statistics: those change by themselves. */
const schemaQueries: Readonly<Record<string, string>> = {
  schemata: `select schema_name, default_character_set_name, default_collation_name from information_schema.schemata`,
  options: `select * from information_schema.schemata_extensions`,
  tables: `select table_schema, table_name, table_type, engine, row_format, table_collation, create_options, table_comment from information_schema.tables where table_schema ${userSchemas}`,
  columns: `select table_schema, table_name, column_name, ordinal_position, column_default, is_nullable, column_type, extra, generation_expression, column_comment from information_schema.columns where table_schema ${userSchemas}`,
  indexes: `select table_schema, table_name, index_name, seq_in_index, column_name, non_unique, index_type, is_visible from information_schema.statistics where table_schema ${userSchemas}`,
  constraints: `select constraint_schema, table_name, constraint_name, constraint_type, enforced from information_schema.table_constraints where constraint_schema ${userSchemas}`,
  partitions: `select table_schema, table_name, partition_name, partition_method, partition_expression, partition_description from information_schema.partitions where table_schema ${userSchemas}`,
  views: `select table_schema, table_name, view_definition from information_schema.views where table_schema ${userSchemas}`,
  triggers: `select trigger_schema, trigger_name, event_object_table, action_statement from information_schema.triggers where trigger_schema ${userSchemas}`,
  routines: `select routine_schema, routine_name, routine_type, routine_definition, routine_comment from information_schema.routines where routine_schema ${userSchemas}`,
  events: `select event_schema, event_name, event_definition, status, interval_value from information_schema.events where event_schema ${userSchemas}`,
  histograms: `select schema_name, table_name, column_name from information_schema.column_statistics`,
  tablespaces: `select name, space_type, state from information_schema.innodb_tablespaces where name not like 'innodb%'`,
  innodbTables: `select t.name, s.name as tablespace from information_schema.innodb_tables t left join information_schema.innodb_tablespaces s using (space)`,
  resourceGroups: `select resource_group_name, resource_group_type from information_schema.resource_groups`,
}

const accountTables = [
  'user',
  'db',
  'tables_priv',
  'columns_priv',
  'procs_priv',
  'proxies_priv',
  'role_edges',
  'default_roles',
  'global_grants',
  'servers',
  'func',
]

export async function fingerprint(connection: Connection, dataDir: string): Promise<Fingerprint> {
  const schema: Record<string, readonly unknown[]> = {}
  for (const [name, query] of Object.entries(schemaQueries)) schema[name] = sorted(await rows(connection, query))
  const accounts: Record<string, readonly unknown[]> = {}
  for (const table of accountTables) accounts[table] = sorted(await rows(connection, `select * from mysql.${table}`))
  return {
    schema,
    accounts,
    checksums: await checksums(connection),
    xa: sorted(await rows(connection, 'xa recover convert xid')),
    files: await tableFiles(dataDir),
    executed: (await value(connection, 'select @@global.gtid_executed')).replaceAll('\n', ''),
  }
}

async function checksums(connection: Connection): Promise<Record<string, string>> {
  const tables = await rows<{ name: string }>(
    connection,
    `select concat('\`', table_schema, '\`.\`', table_name, '\`') as name from information_schema.tables where table_type = 'BASE TABLE' and table_schema ${userSchemas}`,
  )
  const found: Record<string, string> = {}
  for (const { name } of tables) {
    const [row] = await rows<{ Checksum: number }>(connection, `checksum table ${name}`)
    found[name] = String(row?.Checksum)
  }
  return found
}

/** Files of tables and tablespaces; not those the server keeps for itself. */
async function tableFiles(dataDir: string): Promise<readonly string[]> {
  const entries = await readdir(dataDir, { recursive: true, withFileTypes: true })
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(dataDir, join(entry.parentPath, entry.name)))
  return files.filter((file) => /\.(ibd|sdi|MYD|MYI|CSV|CSM)$/.test(file) && !file.startsWith('#innodb')).sort()
}

function sorted(found: readonly unknown[]): readonly string[] {
  return found.map((row) => JSON.stringify(row)).sort()
}
