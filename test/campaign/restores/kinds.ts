/** One statement's rows, or none. */
export type Ask = (statement: string) => Promise<readonly Readonly<Record<string, unknown>>[]>

/** A kind of transaction: how one is written, and how a look at a server finds all of them again. */
export interface Kind {
  readonly name: string
  /** How often the kind is drawn, beside the others. */
  readonly weight: number
  readonly tables: readonly string[]
  /** Writes transaction `id` up to the last statement, which commits. @returns what `seen` shows of it, where known */
  write(id: number, ask: Ask): Promise<{ readonly commit: string; readonly left: string | null }>
  /** A query with the columns `id` and `found`. */
  readonly seen: string
}

const largeBytes = 20 * 1024 * 1024

export const kinds: readonly Kind[] = [
  {
    name: 'row',
    weight: 30,
    tables: ['create table d_row (id bigint primary key, body varchar(40))'],
    write: async (id) => ({ commit: `insert into d_row values (${id}, 'row ${id}')`, left: `row ${id}` }),
    seen: 'select id, body as found from d_row',
  },
  {
    name: 'pair',
    weight: 20,
    tables: [
      'create table d_left (id bigint primary key, amount bigint)',
      'create table d_right (id bigint primary key, amount bigint)',
    ],
    async write(id, ask) {
      await ask('begin')
      await ask(`insert into d_left values (${id}, ${-id})`)
      await ask(`insert into d_right values (${id}, ${id})`)
      return { commit: 'commit', left: `${-id},${id}` }
    },
    seen: `select id, group_concat(amount order by amount) as found
      from (select * from d_left union all select * from d_right) as both_sides group by id`,
  },
  {
    // Each depends on the one before: a restore that leaves one out, or takes two in another order, shows.
    name: 'counted',
    weight: 20,
    tables: [
      'create table d_counter (only_row int primary key, n bigint)',
      'insert into d_counter values (1, 0)',
      'create table d_counted (id bigint primary key, n bigint)',
    ],
    async write(id, ask) {
      await ask('begin')
      await ask('update d_counter set n = n + 1')
      await ask(`insert into d_counted select ${id}, n from d_counter`)
      const [row] = await ask(`select n from d_counted where id = ${id}`)
      return { commit: 'commit', left: String(row?.['n']) }
    },
    seen: 'select id, n as found from d_counted',
  },
  {
    name: 'generated',
    weight: 15,
    tables: [
      'create table d_generated (number bigint auto_increment primary key, id bigint, uid varchar(40) default (uuid()))',
    ],
    async write(id, ask) {
      await ask('begin')
      await ask(`insert into d_generated (id) values (${id})`)
      const [row] = await ask(`select concat(number, ' ', uid) as found from d_generated where id = ${id}`)
      return { commit: 'commit', left: String(row?.['found']) }
    },
    seen: "select id, concat(number, ' ', uid) as found from d_generated",
  },
  {
    name: 'large',
    weight: 1,
    tables: ['create table d_large (id bigint primary key, body longblob)'],
    write: async (id) => ({
      commit: `insert into d_large values (${id}, repeat('${id % 10}', ${largeBytes}))`,
      left: `${largeBytes} ${id % 10}`,
    }),
    // Other bytes within would make the rest longer than nothing.
    seen: "select id, concat(length(body), ' ', left(body, 1), replace(body, left(body, 1), '')) as found from d_large",
  },
  {
    name: 'xa',
    weight: 5,
    tables: ['create table d_xa (id bigint primary key)'],
    async write(id, ask) {
      await ask(`xa start 'diary-${id}'`)
      await ask(`insert into d_xa values (${id})`)
      await ask(`xa end 'diary-${id}'`)
      await ask(`xa prepare 'diary-${id}'`)
      return { commit: `xa commit 'diary-${id}'`, left: `xa ${id}` }
    },
    seen: "select id, concat('xa ', id) as found from d_xa",
  },
  {
    name: 'table',
    weight: 2,
    tables: [],
    write: async (id) => ({ commit: `create table d_made_${id} (id int primary key)`, left: `d_made_${id}` }),
    seen: String.raw`select cast(substring(table_name, 8) as unsigned) as id, table_name as found
      from information_schema.tables where table_schema = 'app' and table_name like 'd\_made\_%'`,
  },
]

/** Written by the server itself, once a second; nobody acknowledges these rows. */
export const ticking: readonly string[] = [
  'create table d_ticks (number bigint auto_increment primary key, at datetime(6))',
  'create event d_tick on schedule every 1 second do insert into app.d_ticks (at) values (utc_timestamp(6))',
]

export const ticksSeen = 'select number as id, at as found from d_ticks order by number'
