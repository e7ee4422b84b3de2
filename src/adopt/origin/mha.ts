import { access } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { badFile, readText } from '#local/files/input-file.ts'
import { checkClusterName } from '#local/folder/names.ts'
import { keepPassword, prepareFolder, type AdoptedFolder } from '../adopted-folder.ts'
import { checkAdoption, type Adoption } from '../adoption.ts'
import { mysqlPort } from '../host-address.ts'
import { hookParameters, hooksOfMha, whyNoHook } from './mha-hooks.ts'
import { mhaParameters, secretParameters } from './mha-parameters.ts'
import { say } from '#common/sentence/sentence.ts'

export interface MhaLine {
  readonly file: string
  readonly number: number
  /** `serverdefault`, `server1`, `binlog1` */
  readonly section: string
  readonly key: string
  readonly value: string
}

export interface MhaRead {
  readonly adoption: Adoption
  /** What each line became, or why it became nothing. */
  readonly lines: readonly string[]
}

export interface MhaOptions {
  /** The file of all clusters. */
  readonly global: string | undefined
  /** Name of the cluster; that of the file unless given. */
  readonly name: string | undefined
  /** Passwords are kept there. */
  readonly folder: AdoptedFolder
}

const what = say`MHA’s file`

/** Throws `REGENT_BAD_FILE` with the line. */
export async function readMha(file: string, { global, name, folder }: MhaOptions): Promise<MhaRead> {
  const ofAll = global === undefined ? [] : parseMha(global, await readText(global, say`MHA’s global file`))
  const lines = [...ofAll, ...parseMha(file, await readText(file, what))]
  if (!lines.some(({ section }) => /^server\d/.test(section)))
    throw badFile(what, file, say`names no server: it has no section [server1] with a hostname`)
  const cluster = checkClusterName(name ?? nameIn(file))
  const keys = await keysOfThisUser()
  const { value, passwords } = composeAdoption(cluster, lines, { ...keys, file })
  await prepareFolder(folder)
  for (const [path, password] of passwords) await keepPassword(folder, path, password)
  const adoption = checkAdoption(`what ${file} became`, withPaths(value, folder))
  return { adoption, lines: [...lines.map(meaningOf), ...notesOn(adoption)] }
}

/** As MHA reads its files: `[section]`, `key=value`, and `#` or `;` before what is no more than a remark. */
export function parseMha(file: string, text: string): readonly MhaLine[] {
  let section = ''
  return text.split(/\r?\n/).flatMap((raw, at) => {
    const line = raw.trim()
    if (/^([#;]|$)/.test(line)) return []
    const [, opened] = /^\[(.+)\]$/.exec(line) ?? []
    if (opened !== undefined) {
      section = sectionIn(file, opened, at + 1)
      return []
    }
    const [, key, value] = /^([a-z_]+)\s*=\s*(.*)$/.exec(line) ?? []
    if (key === undefined || value === undefined || section === '') {
      // What comes after it may be a password.
      const shown = line.replace(/=.*$/, '=…').slice(0, 40)
      throw badFile(what, file, say`has "${shown}" in line ${at + 1}; allowed are [section] and, below one, key=value`)
    }
    return [{ file, number: at + 1, section, key, value }]
  })
}

function sectionIn(file: string, opened: string, line: number): string {
  const section = opened.toLowerCase().replaceAll(/\s+/g, '')
  if (/^(serverdefault|server\d+|binlog\d+)$/.test(section)) return section
  const allowed = say`allowed are server default, server<n> and binlog<n>`
  throw badFile(what, file, say`has the section [${opened.slice(0, 40)}] in line ${line}; ${allowed}`)
}

function meaningOf({ file, number, section, key, value }: MhaLine): string {
  const shown = `${basename(file)}:${number} [${section}] ${key}=${isSecret(key) ? '…' : value}`
  if (section.startsWith('binlog')) return `${shown}  –  no counterpart: servers that only keep binlogs are not asked`
  const meaning = Object.hasOwn(mhaParameters, key) ? mhaParameters[key] : undefined
  const unhooked = hookParameters.some((name) => name === key) ? whyNoHook(section, value) : undefined
  if (unhooked !== undefined) return `${shown}  –  not taken: ${unhooked}`
  if (meaning === undefined) return `${shown}  –  not known, and left out`
  if ('taken' in meaning) return `${shown}  →  ${meaning.taken}`
  return 'instead' in meaning
    ? `${shown}  –  not needed: ${meaning.instead}`
    : `${shown}  –  no counterpart: ${meaning.none}`
}

/** A key with a secret, even if MHA does not know the key: a misspelt password is a password. */
function isSecret(key: string): boolean {
  return secretParameters.has(key) || /pas+w/.test(key)
}

/** What ssh would take by itself. */
export interface SshKeys {
  readonly keyFile: string | undefined
  readonly knownHostsFile: string
}

async function keysOfThisUser(): Promise<SshKeys> {
  const folder = join(homedir(), '.ssh')
  const knownHostsFile = join(folder, 'known_hosts')
  for (const name of ['id_ed25519', 'id_ecdsa', 'id_rsa']) {
    const keyFile = join(folder, name)
    const failure: unknown = await access(keyFile).catch((error: unknown) => error)
    if (failure === undefined) return { keyFile, knownHostsFile }
  }
  return { keyFile: undefined, knownHostsFile }
}

function notesOn({ ssh, hooks }: Adoption): readonly string[] {
  const moves = hooks?.beforeFailover !== undefined
  return [
    ...(ssh !== undefined
      ? []
      : ['this user has no SSH key, so the adoption has no ssh: say ssh_options=-i <file> in MHA’s file']),
    ...(moves && hooks.beforeSwitchover === undefined
      ? ['no address moves at a switchover: MHA’s file has no master_ip_online_change_script; write hooks for that']
      : []),
  ]
}

type Values = Readonly<Record<string, string>>

/** What every server of the file is made of. Passwords are kept apart, under names that stand for their paths. */
interface Common {
  readonly cluster: string
  readonly values: Values
  readonly keys: SshKeys
  readonly passwords: Map<string, string>
}

/** What is said for a server wins over what is said for all, and the cluster's file over the global one. */
export function composeAdoption(
  cluster: string,
  lines: readonly MhaLine[],
  { file, ...keys }: SshKeys & { readonly file: string },
) {
  const valuesOf = (section: string): Values =>
    Object.fromEntries(lines.filter((line) => line.section === section).map(({ key, value }) => [key, value]))
  const passwords = new Map<string, string>()
  const common = { cluster, values: valuesOf('serverdefault'), keys, passwords }
  const servers = [...new Set(lines.map(({ section }) => section))].filter((section) => /^server\d/.test(section))
  const inOrder = servers.toSorted((one, other) => Number(one.slice(6)) - Number(other.slice(6)))
  const value = {
    ...{ cluster, mode: 'async' },
    mysql: accountIn(common.values, 'mysql', `${cluster}.mysql`, passwords),
    ...named('replication', replicationIn(common)),
    ...named('ssh', sshIn(common.values, keys)),
    ...named('hooks', hooksOfMha(common.values, file)),
    hosts: inOrder.map((section) => hostOf(section, valuesOf(section), common)),
  }
  return { value, passwords }
}

function hostOf(section: string, values: Values, { cluster, values: common, keys, passwords }: Common) {
  const whole = { ...common, ...values }
  const { hostname, ip, port } = whole
  const says = (...names: readonly string[]): boolean => names.some((name) => values[name] !== undefined)
  return {
    host: hostname ?? ip ?? '',
    port: Number(port ?? mysqlPort),
    ...(hostname !== undefined && ip !== undefined ? { alsoKnownAs: [ip] } : {}),
    ...(says('user', 'password') ? { mysql: accountIn(whole, 'mysql', `${cluster}.${section}.mysql`, passwords) } : {}),
    ...(says('ssh_user', 'ssh_port', 'ssh_options') ? named('ssh', sshIn(whole, keys)) : {}),
    promotion: promotionIn(whole),
  }
}

function promotionIn(values: Values): 'prefer' | 'neutral' | 'never' {
  const isSet = (name: string): boolean => !['', '0'].includes(values[name] ?? '')
  if (isSet('no_master')) return 'never'
  return isSet('candidate_master') ? 'prefer' : 'neutral'
}

/** MHA logs in as root where its file names nobody. */
function accountIn(values: Values, kind: 'mysql' | 'replication', path: string, passwords: Map<string, string>) {
  const prefix = kind === 'mysql' ? '' : 'repl_'
  passwords.set(path, values[`${prefix}password`] ?? '')
  return { user: values[`${prefix}user`] ?? 'root', passwordFile: path }
}

function replicationIn({ cluster, values, passwords }: Common) {
  return values['repl_user'] === undefined
    ? undefined
    : accountIn(values, 'replication', `${cluster}.replication`, passwords)
}

function sshIn(values: Values, { keyFile, knownHostsFile }: SshKeys) {
  const { ssh_user: user = 'root', ssh_port: port = '22' } = values
  const options = (values['ssh_options'] ?? '').replaceAll(/["']/g, ' ')
  const key = /(?:^|\s)-i\s*(\S+)/.exec(options)?.[1] ?? keyFile
  const known = /(?:^|\s)-o\s*UserKnownHostsFile[=\s]\s*(\S+)/i.exec(options)?.[1] ?? knownHostsFile
  return key === undefined ? undefined : { user, port: Number(port), keyFile: key, knownHostsFile: known }
}

function named<Value>(name: string, value: Value | undefined): Readonly<Record<string, Value>> {
  return value === undefined ? {} : { [name]: value }
}

/** Passwords are kept in the folder of what is adopted. */
function withPaths(value: unknown, folder: AdoptedFolder): unknown {
  if (Array.isArray(value)) return value.map((one) => withPaths(one, folder))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, one]) => [
    key,
    key === 'passwordFile' ? join(folder.secrets, String(one)) : withPaths(one, folder),
  ])
  return Object.fromEntries(entries)
}

/** `app1` of `/etc/mha/app1.cnf`. */
function nameIn(file: string): string {
  const name = basename(file).replace(/\.[^.]*$/, '')
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^[^a-z]+|-+$/g, '')
}
