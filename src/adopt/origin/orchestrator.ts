import { badFile, readJson, readText } from '#local/files/input-file.ts'
import { keepPassword, prepareFolder, type AdoptedFolder } from '../adopted-folder.ts'
import { checkAdoption, type AdoptedAccount, type Adoption } from '../adoption.ts'
import { mysqlPort, parseHostAddress, type HostAddress } from '../host-address.ts'
import type { OrchestratorServed } from '../orchestrator-file.ts'
import { meaningOfKey, secretKeys } from './orchestrator-keys.ts'
import { say } from '#common/sentence/sentence.ts'

export interface OrchestratorRead {
  /** What each key became, or why it became nothing. */
  readonly lines: readonly string[]
  readonly mysql: AdoptedAccount
  /** Where servers are looked for. */
  readonly seeds: readonly HostAddress[]
  /** Port of an address that names none. */
  readonly port: number
  /** How its interface was served. */
  readonly served: OrchestratorServed | undefined
  /** What the file says of the cluster that is found. */
  readonly applied: (found: Adoption) => Adoption
}

const what = say`orchestrator’s configuration file`

type Keys = Readonly<Record<string, unknown>>

/**
 * Reads `orchestrator.conf.json`. Passwords are kept in files of their own, named after the cluster. Throws
 * `REGENT_BAD_FILE` with the key.
 */
export async function readOrchestrator(
  file: string,
  { cluster, folder }: { readonly cluster: string; readonly folder: AdoptedFolder },
): Promise<OrchestratorRead> {
  const keys = await readJson(file, what)
  if (typeof keys !== 'object' || keys === null || Array.isArray(keys))
    throw badFile(what, file, say`holds no object of keys`)
  const all = keys as Keys
  const text = (key: string): string => textIn(file, all, key)
  const number = (key: string, initial: number): number => numberIn(file, all, key, initial)
  const never = patternsIn(file, all, 'PromotionIgnoreHostnameFilters')
  const port = number('DefaultInstancePort', mysqlPort)
  const maxLagSeconds = number('ReasonableReplicationLagSeconds', 30)
  const automatic = patternsIn(file, all, 'RecoverMasterClusterFilters').length > 0
  await prepareFolder(folder)
  return {
    lines: Object.keys(all).map((key) => lineOf(key, all[key])),
    mysql: await accountIn(file, text, { cluster, folder }),
    seeds: textsIn(file, all, 'DiscoverySeeds').map((seed) => seedOf(file, seed, port)),
    port,
    served: await servedIn(file, all, { text, folder }),
    applied: (found) =>
      checkAdoption(`what ${file} became`, {
        ...found,
        maxLagSeconds,
        failover: { ...found.failover, automatic },
        hosts: found.hosts.map((host) =>
          never.some((pattern) => pattern.test(host.host)) ? { ...host, promotion: 'never' } : host,
        ),
      }),
  }
}

function lineOf(key: string, value: unknown): string {
  const shown = `${key}=${secretKeys.has(key) ? '…' : JSON.stringify(value)}`
  const meaning = meaningOfKey(key)
  if (meaning === undefined) return `${shown}  –  not known, and left out`
  const here = meaning.here.replaceAll('`', '').replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1')
  if (meaning.kind === 'taken') return `${shown}  →  ${here}`
  return meaning.kind === 'none' ? `${shown}  –  no counterpart: ${here}` : `${shown}  –  instead: ${here}`
}

async function accountIn(
  file: string,
  text: (key: string) => string,
  { cluster, folder }: { readonly cluster: string; readonly folder: AdoptedFolder },
): Promise<AdoptedAccount> {
  const credentials = text('MySQLTopologyCredentialsConfigFile')
  const said = credentials === '' ? new Map<string, string>() : clientOptions(await readText(credentials, what))
  const user = said.get('user') ?? text('MySQLTopologyUser')
  if (user === '')
    throw badFile(what, file, say`says no MySQLTopologyUser: by which account are the servers looked at?`)
  const password = said.get('password') ?? text('MySQLTopologyPassword')
  const caFile = text('MySQLTopologySSLCAFile')
  const passwordFile = await keepPassword(folder, `${cluster}.mysql`, password)
  return { user, passwordFile, ...(caFile !== '' && { caFile }) }
}

/** As an options file of MySQL: `user=…` below `[client]`. */
function clientOptions(text: string): ReadonlyMap<string, string> {
  const pairs = text.split(/\r?\n/).flatMap((line) => {
    const [, key, value = ''] = /^\s*(\w+)\s*=\s*(.*?)\s*$/.exec(line) ?? []
    return key === undefined ? [] : [[key, value.replaceAll(/^["']|["']$/g, '')] as const]
  })
  return new Map(pairs)
}

async function servedIn(
  file: string,
  keys: Keys,
  { text, folder }: { readonly text: (key: string) => string; readonly folder: AdoptedFolder },
): Promise<OrchestratorServed | undefined> {
  if (keys['ListenAddress'] === undefined) return undefined
  const [, host = '', digits = ''] = /^\[?([\w.:%-]*?)\]?:(\d{1,5})$/.exec(text('ListenAddress')) ?? []
  if (Number(digits) < 1 || Number(digits) > 65_535)
    throw badFile(what, file, say`has ListenAddress ${text('ListenAddress')}; allowed is [address]:port`)
  const login = loginIn(file, text)
  return {
    ...{ version: 1, host: host === '' ? '127.0.0.1' : host, port: Number(digits) },
    hostNames: 'address',
    readOnly: keys['ReadOnly'] === true,
    ...(login !== undefined && { loginFile: await keepPassword(folder, 'orchestrator-login', login) }),
  }
}

/** Undefined where everybody may ask. */
function loginIn(file: string, text: (key: string) => string): string | undefined {
  const method = text('AuthenticationMethod').toLowerCase()
  if (method === '' || method === 'none') return undefined
  const [user, password] = [text('HTTPAuthUser'), text('HTTPAuthPassword')]
  const missing = user === '' ? 'HTTPAuthUser' : password === '' ? 'HTTPAuthPassword' : undefined
  if (missing !== undefined)
    throw badFile(
      what,
      file,
      say`has AuthenticationMethod ${method} and no ${missing}: everybody could ask; give a login`,
    )
  const login = `${user}:${password}`
  // As long as every login of the interface has to be.
  if (/^[\x21-\x7e]{16,1024}$/.test(login)) return login
  const why = say`of less than 15 characters together, or with white space; choose a longer password`
  throw badFile(what, file, say`has HTTPAuthUser and HTTPAuthPassword ${why}`)
}

function seedOf(file: string, seed: string, port: number): HostAddress {
  const address = parseHostAddress(/:\d+$/.test(seed) ? seed : `${seed}:${port}`)
  if (address === undefined)
    throw badFile(what, file, say`has "${seed.slice(0, 60)}" in DiscoverySeeds; allowed is host:port`)
  return address
}

/** `${NAME}` stands for a variable of the environment. */
function textIn(file: string, keys: Keys, key: string): string {
  const value = keys[key] ?? ''
  if (typeof value !== 'string') throw badFile(what, file, say`has ${key}, which must be a text`)
  const [, name] = /^\$\{(\w+)\}$/.exec(value) ?? []
  return name === undefined ? value : (process.env[name] ?? '')
}

function numberIn(file: string, keys: Keys, key: string, initial: number): number {
  const value = keys[key] ?? initial
  if (typeof value === 'number' && Number.isInteger(value) && value > 0) return value
  throw badFile(what, file, say`has ${key}, which must be a number above 0`)
}

function textsIn(file: string, keys: Keys, key: string): readonly string[] {
  const value = keys[key] ?? []
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value
  throw badFile(what, file, say`has ${key}, which must be a list of texts`)
}

/** orchestrator takes `*` for every name, too. */
function patternsIn(file: string, keys: Keys, key: string): readonly RegExp[] {
  return textsIn(file, keys, key).map((text) => {
    try {
      return new RegExp(text === '*' ? '.*' : text)
    } catch {
      throw badFile(what, file, say`has "${text.slice(0, 60)}" in ${key}, which is no pattern`)
    }
  })
}
