import { escape } from 'mysql2'
import { olderName, type Dialect } from '#agents/sql/dialect/dialect.ts'
import type { BinlogPosition } from '../servers/seen.ts'

/** How one server is spoken to about its replication. */
export interface Speech {
  readonly dialect: Dialect
  /** The name of its only channel; '' for the default one. */
  readonly channel: string
}

/** Whom a server is to follow, and from where. */
export interface NewSource {
  readonly host: string
  readonly port: number
  readonly from: 'gtids' | BinlogPosition
  readonly login?: { readonly user: string; readonly password: string; readonly encrypted: boolean }
}

export function stopReplica(speech: Speech): string {
  return `STOP ${speech.dialect.words.replica}${forChannel(speech)}`
}

export function startReplica(speech: Speech): string {
  return `START ${speech.dialect.words.replica}${forChannel(speech)}`
}

export function stopReceiving(speech: Speech): string {
  return `STOP ${speech.dialect.words.replica} IO_THREAD${forChannel(speech)}`
}

export function startReceiving(speech: Speech): string {
  return `START ${speech.dialect.words.replica} IO_THREAD${forChannel(speech)}`
}

export function resetReplica(speech: Speech): string {
  return `RESET ${speech.dialect.words.replica} ALL${forChannel(speech)}`
}

export function startUntil(speech: Speech, { file, position }: BinlogPosition): string {
  const s = sideOf(speech)
  return `START ${speech.dialect.words.replica} UNTIL ${s}_LOG_FILE = ${escape(file)}, ${s}_LOG_POS = ${position}${forChannel(speech)}`
}

export function changeSource(speech: Speech, { host, port, from, login }: NewSource): string {
  const s = sideOf(speech)
  const options = [
    `${s}_HOST = ${escape(host)}`,
    `${s}_PORT = ${port}`,
    ...(login ? loginOptions(speech, login) : []),
    ...(from === 'gtids' ? [`${s}_AUTO_POSITION = 1`] : placeOptions(speech, from)),
  ]
  return `${speech.dialect.words.changeSource} ${options.join(', ')}${forChannel(speech)}`
}

function placeOptions(speech: Speech, { file, position }: BinlogPosition): readonly string[] {
  const s = sideOf(speech)
  const hasGtids = speech.dialect.executed !== null
  return [
    ...(hasGtids ? [`${s}_AUTO_POSITION = 0`] : []),
    `${s}_LOG_FILE = ${escape(file)}`,
    `${s}_LOG_POS = ${position}`,
  ]
}

function loginOptions(speech: Speech, login: NonNullable<NewSource['login']>): readonly string[] {
  const s = sideOf(speech)
  return [
    `${s}_USER = ${escape(login.user)}`,
    `${s}_PASSWORD = ${escape(login.password)}`,
    // The server would wait a minute before it tries again, and from 8.4 on give up after ten attempts.
    `${s}_CONNECT_RETRY = 1`,
    ...(isAtLeast(speech, 5, 6) ? [`${s}_RETRY_COUNT = 86400`] : []),
    ...(login.encrypted ? [`${s}_SSL = 1`] : []),
    // A password goes to a server without TLS by the key of that server; older ones send it otherwise.
    ...(!login.encrypted && speech.dialect.since[0] >= 8 ? [`GET_${s}_PUBLIC_KEY = 1`] : []),
  ]
}

/** So long a server waits for commits that are under way, before it stays open. */
export const closesWithinSeconds = 10

/** Nobody may write, not even who may do everything, where the version can do that. */
export function readOnlyStatements({ superReadOnly }: Dialect, on: boolean): readonly string[] {
  const value = on ? 'ON' : 'OFF'
  return [
    ...(on ? [`SET SESSION lock_wait_timeout = ${closesWithinSeconds}`] : []),
    ...(superReadOnly && !on ? ['SET GLOBAL super_read_only = OFF'] : []),
    `SET GLOBAL read_only = ${value}`,
    ...(superReadOnly && on ? ['SET GLOBAL super_read_only = ON'] : []),
  ]
}

export function semiSyncStatement(dialect: Dialect, side: 'source' | 'replica', on: boolean): string {
  const name = `rpl_semi_sync_${side}_enabled`
  return `SET GLOBAL ${dialect.oldWords ? olderName(name) : name} = ${on ? 'ON' : 'OFF'}`
}

/** Both in one message: a server that got it does both, also when who asked is gone. */
export function resetGtids(dialect: Dialect, keep: string): string {
  return `${resetLogs(dialect)}; ${setPurged(keep)}`
}

export function setPurged(keep: string): string {
  return `SET GLOBAL gtid_purged = ${escape(keep)}`
}

/** From 8.2 on the words are others, and from 8.4 on only these are known. */
function resetLogs({ since: [major, minor] }: Dialect): string {
  return major > 8 || (major === 8 && minor >= 2) ? 'RESET BINARY LOGS AND GTIDS' : 'RESET MASTER'
}

export function injectStatements(gtid: string): readonly string[] {
  return [`SET SESSION gtid_next = ${escape(gtid)}`, 'BEGIN', 'COMMIT', `SET SESSION gtid_next = 'AUTOMATIC'`]
}

function isAtLeast({ dialect: { since } }: Speech, major: number, minor: number): boolean {
  return since[0] > major || (since[0] === major && since[1] >= minor)
}

function sideOf({ dialect }: Speech): 'SOURCE' | 'MASTER' {
  return dialect.words.changeSource.includes('SOURCE') ? 'SOURCE' : 'MASTER'
}

function forChannel({ channel }: Speech): string {
  return channel === '' ? '' : ` FOR CHANNEL ${escape(channel)}`
}
