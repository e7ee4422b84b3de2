import { describeError, RegentError } from '#common/errors/errors.ts'
import { isClusterName } from '#local/folder/names.ts'
import { keepAdoption, type AdoptedFolder } from '../adopted-folder.ts'
import { checkAdoption, hostsOf, type AdoptedAccount, type Adoption } from '../adoption.ts'
import { isSameAddress, parseHostAddress } from '../host-address.ts'
import { discover } from '../origin/discover.ts'
import type { WatchedClusters } from './watched-clusters.ts'

/**
 * Servers that replicate with the one at an address are found by the accounts that are known already, and watched from
 * then on: beside those of a cluster that is watched, or as a new one.
 */
export function discoverer(folder: AdoptedFolder, clusters: WatchedClusters) {
  return async (host: string, port: number): Promise<void> => {
    const adopted = clusters.list.map(({ adoption }) => adoption)
    const found = await findBy(accountsOf(adopted), { host, port }, freeName(host, adopted))
    const known = adopted.find((one) => found.hosts.some((each) => isKnown(one, each)))
    const adoption = known === undefined ? found : extended(known, found)
    await keepAdoption(folder, adoption)
    await clusters.follow()
    await clusters.list.find((one) => one.adoption.cluster === adoption.cluster)?.lookNow()
  }
}

function accountsOf(adopted: readonly Adoption[]): readonly AdoptedAccount[] {
  const all = adopted.flatMap(hostsOf).map(({ mysql }) => mysql)
  return all.filter((one, at) => all.findIndex((other) => JSON.stringify(other) === JSON.stringify(one)) === at)
}

/** The first account that the server knows. */
async function findBy(
  accounts: readonly AdoptedAccount[],
  address: { readonly host: string; readonly port: number },
  cluster: string,
): Promise<Adoption> {
  const failures: string[] = []
  for (const mysql of accounts) {
    try {
      return await discover(address, { cluster, mysql, tell: () => undefined })
    } catch (error) {
      failures.push(describeError(error))
    }
  }
  throw new RegentError('REGENT_REFUSED', failures[0] ?? 'no account is known: adopt a first cluster by regent adopt', {
    remedy: '',
  })
}

type Host = Adoption['hosts'][number]

function isKnown({ hosts }: Adoption, host: Host): boolean {
  const names = [host, ...host.alsoKnownAs.map((text) => parseHostAddress(text))].filter((one) => one !== undefined)
  return hosts.some((one) => names.some((name) => isSameAddress(one, name)))
}

/** Those that are there keep their places, and so their names. */
function extended(known: Adoption, found: Adoption): Adoption {
  const added = found.hosts.filter((host) => !isKnown(known, host)).map((host) => ({ ...host, mysql: found.mysql }))
  return checkAdoption('what was found', { ...known, hosts: [...known.hosts, ...added] })
}

/** Of the name of the host; another one where that is taken, or would be no name of a cluster. */
function freeName(host: string, adopted: readonly Adoption[]): string {
  const short = host.split('.', 1)[0] ?? ''
  const base = isClusterName(short) ? short : 'tree'
  const taken = new Set(adopted.map(({ cluster }) => cluster))
  const names = [base, ...Array.from({ length: taken.size + 1 }, (_, at) => `${base}${at + 2}`)]
  return names.find((name) => !taken.has(name)) ?? base
}
