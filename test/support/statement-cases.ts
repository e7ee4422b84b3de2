/** One kind of statement, with what must be there before it. */
export interface StatementCase {
  readonly name: string
  /** Acknowledged, before. */
  readonly setup: string
  /** Run in the session that is to wait, before it: writes nothing to the binlog. */
  readonly session?: string
  /** What waits for an acknowledgement. */
  readonly statement: string
  /** Part of the reason why it must not be cut off. */
  readonly reason?: string
}

const table = (name: string): string =>
  `create database ${name}; create table ${name}.t (id int primary key, v varchar(50)); insert into ${name}.t values (1, 'one'), (2, 'two'), (3, 'three');`
const on = (name: string, statement: string, more = ''): StatementCase => ({
  name: statement,
  setup: `${table(name)} ${more}`,
  statement: statement.replaceAll('$', name),
})

const preparedXa = (name: string): string =>
  `${table(name)} xa start '${name}'; insert into ${name}.t values (9, 'xa'); xa end '${name}'; xa prepare '${name}';`
const openXa = (name: string): string => `xa start '${name}'; insert into ${name}.t values (9, 'xa'); xa end '${name}'`

/** Statements that can wait for their acknowledgement beside each other. */
export const together: readonly StatementCase[] = [
  on('flush_tables', 'flush tables $.t'),
  on('flush_status', 'flush status'),
  on('insert_row', "insert into $.t values (4, 'four')"),
  on('update_row', "update $.t set v = 'changed' where id = 1"),
  on('delete_row', 'delete from $.t where id > 1'),
  on('replace_row', "replace into $.t values (1, 'replaced')"),
  {
    name: 'a large insert, compressed',
    setup: table('compressed'),
    session: 'set session binlog_transaction_compression = on',
    statement: "insert into compressed.t select 100 + id, repeat('z', 50) from compressed.t",
  },
  {
    name: 'an insert logged as a statement',
    setup: table('statement_format'),
    session: "set session binlog_format = 'STATEMENT'",
    statement: "insert into statement_format.t values (4, 'four')",
  },
  {
    name: 'an insert with a tagged GTID',
    setup: table('tagged'),
    session: "set gtid_next = 'AUTOMATIC:regent_test'",
    statement: "insert into tagged.t values (4, 'four')",
  },
  {
    name: 'a transaction with a savepoint',
    setup: table('savepoint_kept'),
    session:
      "begin; insert into savepoint_kept.t values (4, 'four'); savepoint s; insert into savepoint_kept.t values (5, 'five'); rollback to s",
    statement: 'commit',
  },
  on('create_table', 'create table $.u (id int primary key)'),
  on('create_like', 'create table $.u like $.t'),
  on('create_select', 'create table $.u as select * from $.t'),
  on('drop_table', 'drop table $.t'),
  on('truncate_table', 'truncate table $.t'),
  on('rename_table', 'rename table $.t to $.renamed'),
  on('alter_instant', 'alter table $.t add column w int, algorithm=instant'),
  on('alter_inplace', 'alter table $.t add index (v), algorithm=inplace'),
  on('alter_copy', 'alter table $.t modify v text, algorithm=copy'),
  on('create_index', 'create index i on $.t (v)'),
  on('drop_index', 'drop index i on $.t', 'create index i on drop_index.t (v);'),
  on(
    'foreign_key',
    'alter table $.u add constraint fk foreign key (t_id) references $.t (id)',
    'create table foreign_key.u (id int primary key, t_id int);',
  ),
  on('check_constraint', "alter table $.t add constraint c check (v <> 'never')"),
  on('create_view', 'create view $.w as select id from $.t'),
  on('drop_view', 'drop view $.w', 'create view drop_view.w as select id from drop_view.t;'),
  on('alter_view', 'alter view $.w as select v from $.t', 'create view alter_view.w as select id from alter_view.t;'),
  on('create_trigger', "create trigger $.g before insert on $.t for each row set new.v = 'triggered'"),
  on(
    'drop_trigger',
    'drop trigger $.g',
    "create trigger drop_trigger.g before insert on drop_trigger.t for each row set new.v = 'triggered';",
  ),
  on('create_procedure', 'create procedure $.p() select 1'),
  on('drop_procedure', 'drop procedure $.p', 'create procedure drop_procedure.p() select 1;'),
  on('alter_procedure', "alter procedure $.p comment 'changed'", 'create procedure alter_procedure.p() select 1;'),
  on('create_function', 'create function $.f() returns int deterministic return 1'),
  on('drop_function', 'drop function $.f', 'create function drop_function.f() returns int deterministic return 1;'),
  on('create_event', 'create event $.e on schedule every 1 year do delete from $.t'),
  on(
    'alter_event',
    'alter event $.e disable',
    'create event alter_event.e on schedule every 1 year do delete from alter_event.t;',
  ),
  on('drop_event', 'drop event $.e', 'create event drop_event.e on schedule every 1 year do delete from drop_event.t;'),
  on('create_database', 'create database made_later'),
  on('alter_database', 'alter database $ character set latin1'),
  on('drop_database', 'drop database $'),
  on('partition_table', 'alter table $.t partition by hash (id) partitions 3'),
  on(
    'add_partition',
    'alter table $.t add partition (partition p2 values less than (100))',
    'alter table add_partition.t partition by range (id) (partition p1 values less than (10));',
  ),
  on(
    'drop_partition',
    'alter table $.t drop partition p2',
    'alter table drop_partition.t partition by range (id) (partition p1 values less than (2), partition p2 values less than (10));',
  ),
  on(
    'truncate_partition',
    'alter table $.t truncate partition p1',
    'alter table truncate_partition.t partition by range (id) (partition p1 values less than (2), partition p2 values less than (10));',
  ),
  on(
    'exchange_partition',
    'alter table $.t exchange partition p1 with table $.u',
    'create table exchange_partition.u like exchange_partition.t; alter table exchange_partition.t partition by range (id) (partition p1 values less than (2), partition p2 values less than (10));',
  ),
  on('create_tablespace', "create tablespace $ add datafile '$.ibd'"),
  on('drop_tablespace', 'drop tablespace $', "create tablespace drop_tablespace add datafile 'drop_tablespace.ibd';"),
  on(
    'rename_tablespace',
    'alter tablespace $ rename to renamed_tablespace',
    "create tablespace rename_tablespace add datafile 'rename_tablespace.ibd';",
  ),
  on('move_to_tablespace', 'alter table $.t tablespace moved', "create tablespace moved add datafile 'moved.ibd';"),
  {
    name: 'XA PREPARE',
    setup: table('xa_prepare'),
    session: openXa('xa_prepare'),
    statement: "xa prepare 'xa_prepare'",
  },
  { name: 'XA COMMIT', setup: preparedXa('xa_commit'), statement: "xa commit 'xa_commit'" },
  { name: 'XA ROLLBACK', setup: preparedXa('xa_rollback'), statement: "xa rollback 'xa_rollback'" },
  {
    name: 'XA COMMIT ONE PHASE',
    setup: table('xa_one_phase'),
    session: openXa('xa_one_phase'),
    statement: "xa commit 'xa_one_phase' one phase",
  },
  on('fulltext_index', 'create fulltext index f on $.t (v)'),
  on('rename_swap', 'rename table $.t to $.x, $.u to $.t', 'create table rename_swap.u like rename_swap.t;'),
  on('drop_two_tables', 'drop table $.t, $.u', 'create table drop_two_tables.u like drop_two_tables.t;'),
  on(
    'call_procedure',
    'call $.p()',
    "create procedure call_procedure.p() insert into call_procedure.t values (4, 'four');",
  ),
  on(
    'spatial_reference',
    'create spatial reference system 990001 name \'regent\' definition \'GEOGCS["x",DATUM["d",SPHEROID["s",6377397.155,299.1528128]],PRIMEM["Greenwich",0],UNIT["degree",0.017453292519943278],AXIS["Lat",NORTH],AXIS["Lon",EAST]]\'',
  ),
  on('analyze_table', 'analyze table $.t'),
  on('optimize_table', 'optimize table $.t'),
]

const account = (name: string, statement: string, setup = ''): StatementCase => ({
  name,
  setup: `${setup} do 0`,
  statement,
})

/**
 * Statements that lock the accounts while they wait, so that each needs a server of its own; and a few common ones by
 * themselves.
 */
export const alone: readonly StatementCase[] = [
  account('CREATE USER', "create user anna identified by 'secret'"),
  account('ALTER USER', "alter user bert identified by 'other'", "create user bert identified by 'secret';"),
  account('RENAME USER', 'rename user carl to carla', 'create user carl;'),
  account('DROP USER', 'drop user dora', 'create user dora;'),
  account('CREATE ROLE', 'create role reader'),
  account('GRANT of a privilege', 'grant select on mysql.* to emil', 'create user emil;'),
  account('GRANT of a role', 'grant writer to fred', 'create role writer; create user fred;'),
  account('REVOKE', 'revoke select on mysql.* from gina', 'create user gina; grant select on mysql.* to gina;'),
  account(
    'SET DEFAULT ROLE',
    'set default role keeper to hans',
    'create role keeper; create user hans; grant keeper to hans;',
  ),
  account('FLUSH PRIVILEGES', 'flush privileges'),
]

const myisam =
  'create database heap; create table heap.m (id int) engine=myisam; create table heap.t (id int primary key);'

/** Leaves its histogram, which is statistics only. */
export const histogram: StatementCase = on('histogram', 'analyze table $.t update histogram on v')

/** What must not be cut off, since nobody could take it back. */
export const irrevocable: readonly StatementCase[] = [
  {
    name: 'a write to a MyISAM table',
    setup: myisam,
    statement: 'insert into heap.m values (1)',
    reason: 'not transactional',
  },
  {
    name: 'DDL on a MyISAM table',
    setup: myisam,
    statement: 'alter table heap.m add x int',
    reason: 'without an Xid (alter table …)',
  },
  {
    name: 'DROP DATABASE with a MyISAM table',
    setup: myisam,
    statement: 'drop database heap',
    reason: 'without an Xid (DROP TABLE …)',
  },
  {
    name: 'DISCARD TABLESPACE',
    setup: myisam,
    statement: 'alter table heap.t discard tablespace',
    reason: 'discards or imports a tablespace',
  },
]
