import { readFile } from 'node:fs/promises'
import { describeError, RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import { checkAdoption, mostWatched, readPassword, type AdoptedAccount, type Adoption } from '../adoption.ts'
import { addressText, isSameAddress, mysqlPort, type HostAddress } from '../host-address.ts'
import { failureOf, LookFailure } from '../servers/failure.ts'
import { readFacts, readServer } from '../servers/read-server.ts'
import type { SeenServer } from '../servers/seen.ts'
import { ServerSession, whyNoMysql, type Login } from '../servers/session.ts'

const deadlineMs = 2_000
/** So many servers are looked at together: one that is silent holds up none but these. */
const atOnce = 64

export interface DiscoverOptions {
  readonly cluster: string
  readonly mysql: AdoptedAccount
  /** Is told what is found, and by what. */
  readonly tell: (line: string) => void
  /** How a server is looked at: what was seen, or why nothing was. By a session, unless given. */
  readonly lookAt?: (address: HostAddress) => Promise<SeenServer | Error>
  /** By which address a server is known already, where that is so. */
  readonly knownAt?: (server: SeenServer) => HostAddress | undefined
}

interface Found {
  readonly address: HostAddress
  readonly server: SeenServer
  /** Other addresses by which it was named. */
  readonly also: HostAddress[]
}

/** An address that a server named. */
interface Hint {
  readonly address: HostAddress
  readonly why: string
  /** Put together from a host and a port: perhaps no server is there. */
  readonly isGuess: boolean
}

/**
 * The servers that replicate with the server at this address: its sources upwards, and its replicas downwards. Each
 * server is found once, by its identity, whatever names lead to it. Rejects where the first server cannot be looked at.
 */
export async function discover(start: HostAddress, options: DiscoverOptions): Promise<Adoption> {
  const { mysql, cluster, tell, lookAt = await lookingBy(mysql) } = options
  const found: Found[] = []
  const tried: HostAddress[] = []
  const taken = ({ address, why, isGuess }: Hint, seen: SeenServer | Error): readonly Hint[] => {
    if (seen instanceof Error) {
      if (found.length === 0) throw unseen(address, seen)
      if (!isGuess) tell(`${addressText(address)} (${why}) cannot be looked at: ${describeError(seen)}`)
      return []
    }
    if (!isNewAmong(found, address, seen)) return []
    if (found.length > mostWatched) throw tooMany(cluster)
    tell(`${addressText(address)}: ${why}`)
    return hintsOf(address, seen)
  }
  const queue: Hint[] = [{ address: start, why: 'the address that was given', isGuess: false }]
  while (queue.length > 0) {
    const hints = queue.splice(0, atOnce).filter(({ address }) => isUntried(tried, address))
    const looks = await Promise.all(hints.map(async (hint) => ({ hint, seen: await lookAt(hint.address) })))
    for (const { hint, seen } of looks) queue.push(...taken(hint, seen))
  }
  tellOfMissing(found, tell)
  return adoptionOf(found, options)
}

function isUntried(tried: HostAddress[], address: HostAddress): boolean {
  const isNew = !tried.some((one) => isSameAddress(one, address))
  if (isNew) tried.push(address)
  return isNew
}

async function lookingBy(mysql: AdoptedAccount): Promise<NonNullable<DiscoverOptions['lookAt']>> {
  const login: Login = {
    user: mysql.user,
    password: await readPassword(mysql.passwordFile),
    ca: mysql.caFile === undefined ? undefined : await readFile(mysql.caFile, 'utf8'),
  }
  return async (address) => lookBy(address, login)
}

async function lookBy(address: HostAddress, login: Login): Promise<SeenServer | Error> {
  try {
    const session = await ServerSession.open(address, login, deadlineMs)
    try {
      return await readServer(session, await readFacts(session, deadlineMs), deadlineMs)
    } finally {
      session.close()
    }
  } catch (error) {
    const failure = failureOf(error)
    const why = failure.reach === 'lockedOut' || failure.reach === 'full' ? '' : await whyNoMysql(address, deadlineMs)
    return why === '' ? failure : new LookFailure('noMysql', say`${reported(why)}`, failure)
  }
}

function isNewAmong(found: Found[], address: HostAddress, server: SeenServer): boolean {
  const known = found.find((one) => isSameServer(one.server, server))
  if (known === undefined) found.push({ address, server, also: [] })
  else known.also.push(address)
  return known === undefined
}

/** By what it says of itself, and not by its address. */
export function isSameServer(one: SeenServer, other: SeenServer): boolean {
  return identityOf(one) === identityOf(other)
}

function identityOf({ uuid, hostname, port, serverId, dataDir }: SeenServer): string {
  return [uuid, hostname, port, serverId, dataDir].join(' ')
}

/** Upwards by the channels, downwards by `report_host`, and where a replica names none by the hosts that read. */
function hintsOf(address: HostAddress, server: SeenServer): readonly Hint[] {
  const here = addressText(address)
  const asSeenThere = (host: string): string => (host === 'localhost' || host === '' ? address.host : host)
  const sources = server.channels.map(({ sourceHost, sourcePort }) => ({
    address: { host: asSeenThere(sourceHost), port: sourcePort },
    ...{ why: `the source of ${here}`, isGuess: false },
  }))
  const named = server.listed.filter(({ host }) => host !== '')
  const replicas = named.map(({ host, port }) => ({
    address: { host: asSeenThere(host), port: port || mysqlPort },
    ...{ why: `a replica of ${here}, by its report_host`, isGuess: false },
  }))
  const ports = new Set([...server.listed.map(({ port }) => port), mysqlPort].filter((port) => port > 0))
  const guessed = server.dumpHosts.flatMap((host) =>
    [...ports].map((port) => ({
      address: { host: asSeenThere(host), port },
      ...{ why: `a replica of ${here}, by its session that reads the binlog`, isGuess: true },
    })),
  )
  return [...sources, ...replicas, ...guessed]
}

/** Replicas that a source lists and nobody found. */
function tellOfMissing(found: readonly Found[], tell: (line: string) => void): void {
  for (const { address, server } of found)
    for (const { uuid, serverId } of server.listed) {
      const isFound = found.some((one) => (uuid === '' ? one.server.serverId === serverId : one.server.uuid === uuid))
      if (!isFound)
        tell(
          `${addressText(address)} has a replica of server_id ${serverId} that was not found: set report_host there, or give a file`,
        )
    }
}

/** Servers that follow nobody come first. */
function adoptionOf(found: readonly Found[], { cluster, mysql, knownAt }: DiscoverOptions): Adoption {
  const inOrder = found.toSorted((one, other) => one.server.channels.length - other.server.channels.length)
  const hosts = inOrder.map(({ address, also, server }) => {
    const known = knownAt?.(server)
    const isNew = known !== undefined && [address, ...also].every((one) => !isSameAddress(one, known))
    return { ...address, alsoKnownAs: [...also, ...(isNew ? [known] : [])].map(addressText) }
  })
  return checkAdoption('what was found', { cluster, mysql, hosts })
}

function unseen(address: HostAddress, error: unknown): RegentError {
  const words = describeError(error)
  return new RegentError(
    'REGENT_REFUSED',
    say`${addressText(address)} (--from) cannot be looked at: ${reported(words)}`,
    {
      ...{ cause: error, remedy: 'Give the address of a server that answers, and an account that it knows.' },
    },
  )
}

function tooMany(cluster: string): RegentError {
  const remedy = 'Name those that are to be watched in a file.'
  return new RegentError('REGENT_REFUSED', say`${cluster} has more than ${mostWatched} servers`, { remedy })
}
