/**
 * What is said to a server by its version: each version is a row. Names of columns and variables that changed are
 * words of the row, so that who reads asks for the new name everywhere.
 */
export interface Dialect {
  /** `MySQL 5.7`, as people are told. */
  readonly name: string
  readonly product: 'MySQL' | 'MariaDB'
  /** The first version that speaks so. */
  readonly since: readonly [number, number, number]
  /** Tried on a real server by this project's tests; otherwise by the documented grammar alone. */
  readonly tried: boolean
  readonly showReplica: string
  readonly showReplicas: string
  readonly showBinlog: string
  /** The old names of columns and variables: `Master_Host` and not `Source_Host`. */
  readonly oldWords: boolean
  readonly superReadOnly: boolean
  /** `executed` of GTIDs: the expression, or null where the server has no sets of GTIDs. */
  readonly executed: string | null
  /** What the replica's receiver is started and stopped by, for the statements that people are given. */
  readonly words: { readonly replica: 'SLAVE' | 'REPLICA'; readonly changeSource: string }
  /** How GTIDs are switched on while servers run; none where a restart with settings is needed. */
  readonly gtidSteps: readonly string[]
  /** The privilege by which an account sees whom a replica follows. */
  readonly monitor: string
  /** Why a server of this version can only be watched; '' where Regent can manage it. */
  readonly onlyWatched: string
}

const old = {
  showReplica: 'SHOW SLAVE STATUS',
  showReplicas: 'SHOW SLAVE HOSTS',
  showBinlog: 'SHOW MASTER STATUS',
  oldWords: true,
  words: { replica: 'SLAVE', changeSource: 'CHANGE MASTER TO' },
} as const

const modern = {
  showReplica: 'SHOW REPLICA STATUS',
  showReplicas: 'SHOW REPLICAS',
  showBinlog: 'SHOW MASTER STATUS',
  oldWords: false,
  words: { replica: 'REPLICA', changeSource: 'CHANGE REPLICATION SOURCE TO' },
} as const

/** Each on every server before the next one anywhere (manual, "Enabling GTID Transactions Online"). */
const gtidsOnline = [
  'SET GLOBAL enforce_gtid_consistency = ON',
  'SET GLOBAL gtid_mode = OFF_PERMISSIVE',
  'SET GLOBAL gtid_mode = ON_PERMISSIVE',
  'SET GLOBAL gtid_mode = ON',
] as const

const mysql = { product: 'MySQL', executed: '@@GLOBAL.gtid_executed', monitor: 'REPLICATION CLIENT' } as const
const mariadb = { product: 'MariaDB', executed: null, superReadOnly: false, gtidSteps: [] } as const
const tooOld = 'Regent manages servers that it finds from MySQL 8.4 on'
const otherProduct = 'Regent manages MySQL alone: MariaDB has other GTIDs and no super_read_only'

/** The newest first of each product. */
export const dialects: readonly Dialect[] = [
  {
    ...mysql,
    ...modern,
    ...{ name: 'MySQL 9', since: [9, 0, 0], tried: true, showBinlog: 'SHOW BINARY LOG STATUS' },
    ...{ superReadOnly: true, gtidSteps: gtidsOnline, onlyWatched: '' },
  },
  {
    ...mysql,
    ...modern,
    ...{ name: 'MySQL 8.4', since: [8, 4, 0], tried: false, showBinlog: 'SHOW BINARY LOG STATUS' },
    ...{ superReadOnly: true, gtidSteps: gtidsOnline, onlyWatched: '' },
  },
  {
    ...mysql,
    ...modern,
    ...{ name: 'MySQL 8.0', since: [8, 0, 26], tried: false },
    ...{ superReadOnly: true, gtidSteps: gtidsOnline, onlyWatched: tooOld },
  },
  {
    ...mysql,
    ...old,
    ...{ name: 'MySQL 8.0 before 8.0.26', since: [8, 0, 0], tried: false },
    ...{ superReadOnly: true, gtidSteps: gtidsOnline, onlyWatched: tooOld },
  },
  {
    ...mysql,
    ...old,
    ...{ name: 'MySQL 5.7', since: [5, 7, 8], tried: false },
    ...{ superReadOnly: true, gtidSteps: gtidsOnline, onlyWatched: tooOld },
  },
  {
    ...mysql,
    ...old,
    ...{ name: 'MySQL 5.6', since: [5, 6, 5], tried: true },
    ...{ superReadOnly: false, gtidSteps: [], onlyWatched: tooOld },
  },
  {
    ...mysql,
    ...old,
    ...{ name: 'MySQL before 5.6', since: [5, 0, 0], tried: false, executed: null },
    ...{ superReadOnly: false, gtidSteps: [], onlyWatched: tooOld },
  },
  {
    ...mariadb,
    ...old,
    ...{ name: 'MariaDB', since: [10, 5, 9], tried: true, showReplica: 'SHOW ALL SLAVES STATUS' },
    ...{ monitor: 'REPLICA MONITOR', onlyWatched: otherProduct },
  },
  {
    ...mariadb,
    ...old,
    ...{ name: 'MariaDB before 10.5.9', since: [10, 0, 2], tried: false, showReplica: 'SHOW ALL SLAVES STATUS' },
    ...{ monitor: 'REPLICATION CLIENT', onlyWatched: otherProduct },
  },
]

/**
 * The row of a server by its `@@version`: `9.7.4`, `5.6.24-log`, `10.11.19-MariaDB-0+deb12u1`. Undefined for what no
 * row knows.
 */
export function dialectFor(version: string): Dialect | undefined {
  const numbers = version
    .replace(/^5\.5\.5-(?=1\d\.)/, '')
    .split(/[.-]/)
    .map(Number)
  const product = /mariadb/i.test(version) ? 'MariaDB' : 'MySQL'
  return dialects.find((row) => row.product === product && isSince(numbers, row.since))
}

function isSince(version: readonly number[], since: readonly number[]): boolean {
  const at = since.findIndex((number, place) => number !== (version[place] ?? 0))
  return at < 0 || (version[at] ?? 0) > (since[at] ?? 0)
}

/** Words in names of columns and variables that are called otherwise by older servers. */
const olderWords: readonly (readonly [now: RegExp, before: string])[] = [
  [/Source/, 'Master'],
  [/Replica/, 'Slave'],
  [/_source/, '_master'],
  [/_replica/, '_slave'],
]

/** A column or a variable by its new name, as a server with old words calls it: `Master_Host`, `log_slave_updates`. */
export function olderName(name: string): string {
  return olderWords.reduce((text, [now, before]) => text.replace(now, before), name)
}
