import { describeError, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { oneAfterOther } from '#common/one-after-other.ts'
import { isClusterName } from '#local/folder/names.ts'
import {
  adoptedFiles,
  clusterIn,
  keepAdoption,
  managedNames,
  takenNames,
  type AdoptedFolder,
} from '../adopted-folder.ts'
import { checkAdoption, hostsOf, readAdoption, type AdoptedAccount, type Adoption } from '../adoption.ts'
import { addressText, isSameAddress, parseHostAddress, type HostAddress } from '../host-address.ts'
import { discover, isSameServer } from '../origin/discover.ts'
import { LookFailure } from '../servers/failure.ts'
import type { Reach, SeenServer } from '../servers/seen.ts'
import type { WatchedCluster } from '../watch/watched-cluster.ts'

const nameUntilKept = 'tree'

/**
 * Servers that replicate with the one at an address are found by the accounts that are known already, and watched from
 * then on: beside those of a cluster that is watched, or as a new one. Others may have adopted, changed or removed
 * clusters while the servers were searched: only what is adopted after the search says whose they are.
 */
export function discoverer(folder: AdoptedFolder, clusters: Clusters, search: typeof discover = discover) {
  const inOrder = oneAfterOther()
  const keep = async (start: HostAddress, found: Adoption): Promise<HostAddress | undefined> => {
    await clusters.follow()
    await refuseManaged(folder, found)
    const adopted = clusters.list.map(({ adoption }) => adoption)
    const known = adopted.find((one) => found.hosts.some((each) => isKnown(one, each)))
    const adoption =
      known === undefined
        ? { ...found, cluster: freeName(start.host, await takenNames(folder)) }
        : extended(known, { found, adopted })
    // A file that is written begins the watching of its cluster anew.
    if (adoption !== known) await keepAdoption(folder, adoption)
    await clusters.follow()
    await clusters.list.find((one) => one.adoption.cluster === adoption.cluster)?.lookNow()
    return knownAddress(
      start,
      found,
      clusters.list.map((one) => one.adoption),
    )
  }
  return async (host: string, port: number): Promise<HostAddress | undefined> => {
    const accounts = accountsOf(clusters.list.map(({ adoption }) => adoption))
    const looks = clusters.list.flatMap((one) => one.looks)
    const knownAt = (seen: SeenServer) => looks.find(({ server }) => server && isSameServer(server, seen))?.host
    const found = await findBy(accounts, { host, port }, (start, options) => search(start, { ...options, knownAt }))
    // Adoptions follow one another: two at once would adopt the same servers twice, or lose what the first of them
    // added.
    return inOrder(() => keep({ host, port }, found))
  }
}

interface Clusters {
  readonly list: readonly Pick<WatchedCluster, 'adoption' | 'lookNow' | 'looks'>[]
  follow(): Promise<void>
}

function accountsOf(adopted: readonly Adoption[]): readonly AdoptedAccount[] {
  const all = adopted.flatMap(hostsOf).map(({ mysql }) => mysql)
  return all.filter((one, at) => all.findIndex((other) => JSON.stringify(other) === JSON.stringify(one)) === at)
}

/** By which the server is watched that is at this address, too. */
function knownAddress(start: HostAddress, found: Adoption, adopted: readonly Adoption[]): HostAddress | undefined {
  const server = found.hosts.find((host) => namesOf(host).some((name) => isSameAddress(name, start)))
  if (server === undefined) return undefined
  const known = adopted.flatMap(({ hosts }) => hosts).find((one) => isOneOf(one, namesOf(server)))
  return known && { host: known.host, port: known.port }
}

/** The first account that the server knows. */
async function findBy(
  accounts: readonly AdoptedAccount[],
  address: HostAddress,
  search: typeof discover,
): Promise<Adoption> {
  const failures: string[] = []
  for (const mysql of accounts) {
    try {
      return await search(address, { cluster: nameUntilKept, mysql, tell: () => undefined })
    } catch (error) {
      failures.push(inWordsOfTheDriver(address, error))
    }
  }
  throw new RegentError(
    'REGENT_REFUSED',
    say`${failures[0] ?? 'no account is known: adopt a first cluster by regent adopt'}`,
    {
      remedy: '',
    },
  )
}

/** Scripts look for what orchestrator’s driver says of a server that is not there yet. */
const wordsOfTheDriver: Readonly<Partial<Record<Reach, string>>> = {
  unresolved: '; no such host',
  silent: '; i/o timeout',
}

function inWordsOfTheDriver(address: HostAddress, error: unknown): string {
  const { cause } = error instanceof Error ? error : {}
  if (!(cause instanceof LookFailure)) return describeError(error)
  const more = wordsOfTheDriver[cause.reach] ?? ''
  return `${addressText(address)} cannot be looked at: ${describeError(cause)}${more}`
}

type Host = Adoption['hosts'][number]

function namesOf(host: Host): readonly HostAddress[] {
  return [host, ...host.alsoKnownAs.map((text) => parseHostAddress(text))].filter((one) => one !== undefined)
}

function isOneOf(host: Host, names: readonly HostAddress[]): boolean {
  return names.some((name) => isSameAddress(host, name))
}

function isKnown({ hosts }: Adoption, host: Host): boolean {
  const names = namesOf(host)
  return hosts.some((one) => isOneOf(one, names))
}

/** A cluster has one keeper. An adoption that cannot be read says nothing of its servers. */
async function refuseManaged(folder: AdoptedFolder, found: Adoption): Promise<void> {
  const managed = await managedNames()
  for (const file of (await adoptedFiles(folder)).keys()) {
    if (!managed.has(clusterIn(file))) continue
    const adoption = await readAdoption(file).catch(() => undefined)
    const host = found.hosts.find((each) => adoption !== undefined && isKnown(adoption, each))
    if (host === undefined) continue
    throw new RegentError(
      'REGENT_REFUSED',
      say`${addressText(host)} is a server of ${clusterIn(file)}, which is managed, and nobody watches it meanwhile`,
      { remedy: '' },
    )
  }
}

/** Hosts that are there keep their places, and so their names. Hosts of other clusters stay in those. */
function extended(
  known: Adoption,
  { found, adopted }: { readonly found: Adoption; readonly adopted: readonly Adoption[] },
): Adoption {
  const isNew = (host: Host): boolean => !adopted.some((one) => isKnown(one, host))
  const added = found.hosts.filter(isNew).map((host) => ({ ...host, mysql: found.mysql }))
  if (added.length === 0) return known
  return checkAdoption('what was found', { ...known, hosts: [...known.hosts, ...added] })
}

/** The host's name; another one where that is taken, or would be no name of a cluster. */
function freeName(host: string, taken: ReadonlySet<string>): string {
  const short = host.split('.', 1)[0] ?? ''
  const base = isClusterName(short) ? short : nameUntilKept
  const names = [base, ...Array.from({ length: taken.size + 1 }, (_, at) => `${base}${at + 2}`)]
  return names.find((name) => !taken.has(name)) ?? base
}
