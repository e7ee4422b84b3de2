import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { allOf } from '#common/text/words.ts'
import { keyText } from '../documents/key.ts'
import type { Cluster, Server } from './fleet.ts'

/**
 * Whether any part of a server’s address names that server, or only its first label (`db-1` of `db-1.prod`): among the
 * clusters of several managers nobody could tell.
 */
export type Names = 'parts' | 'labels' | 'exact'

/**
 * The cluster that somebody means: by its name here or at orchestrator, its alias, its name without the namespace, one
 * of its servers, or a part of a server’s address that only one cluster has. Throws `REGENT_REFUSED` for a name that
 * several clusters have: nobody could tell which one is to hand over.
 */
export function clusterOfHint(fleet: readonly Cluster[], hint: string, names: Names = 'parts'): Cluster {
  const only = (isMeant: (cluster: Cluster) => boolean) => onlyOf(fleet.filter(isMeant), hint, ({ name }) => name)
  const exact =
    only(({ clusterName }) => clusterName === hint) ??
    only(({ alias }) => alias === hint) ??
    only(({ name }) => name === hint) ??
    only(({ name }) => name.endsWith(`.${hint}`)) ??
    findServer(fleet, hint, names)?.cluster
  if (exact === undefined || hint === '')
    throw new RegentError('REGENT_NOT_FOUND', say`Unable to determine cluster name. clusterHint=${shown(hint)}`)
  return exact
}

/** Throws in the words that scripts look for. */
export function serverAt(
  fleet: readonly Cluster[],
  { host, port }: { readonly host: string; readonly port: string },
  names: Names = 'parts',
): Server {
  const found = isPort(port) ? findServer(fleet, `${host}:${port}`, names) : undefined
  if (found === undefined)
    throw new RegentError('REGENT_NOT_FOUND', say`Cannot read instance: ${shown(host)}:${shown(port)}`)
  return found
}

export function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535
}

/** Nobody is to send a page of text back to himself. */
export function shown(text: string): string {
  return text.replaceAll(/[\u0000-\u001f\u007f"\\]/g, '?').slice(0, 100)
}

/** The port that clients add where nobody gave one: a name that has no other server is meant all the same. */
const defaultPort = '3306'

function findServer(fleet: readonly Cluster[], hint: string, names: Names): Server | undefined {
  const all = fleet.flatMap(({ servers }) => servers)
  const [host = '', port = defaultPort] = hint.split(/:(?=\d+$)/)
  const only = (isMeant: (server: Server) => boolean) =>
    onlyOf(all.filter(isMeant), hint, ({ cluster }) => cluster.name)
  return (
    only(({ key }) => keyText(key) === `${host}:${port}`) ??
    only((server) => server.host === host && String(server.port) === port) ??
    (port === defaultPort ? only((server) => isNamed(server, host)) : undefined) ??
    (names === 'exact' ? undefined : fuzzy(all, { host, hint }, names))
  )
}

/** By the name of the instance, or by one that the platform's network has for it. */
function isNamed({ name, cluster }: Server, host: string): boolean {
  if (name === host) return true
  const named = cluster.known.atHost?.(host)
  return named === 'primary' ? cluster.primary === name : named?.instance === name
}

/** In two namespaces there may be clusters of one name, whose instances are then called alike. */
function onlyOf<Item>(found: readonly Item[], hint: string, clusterOf: (item: Item) => string): Item | undefined {
  const clusters = [...new Set(found.map(clusterOf))]
  if (clusters.length < 2) return found[0]
  throw new RegentError(
    'REGENT_REFUSED',
    say`${shown(hint)} is a name in ${allOf(clusters)}: name the cluster with its namespace, or the server by its address (--orchestrator-hosts address)`,
    { remedy: '' },
  )
}

/** Shorter parts are typing errors rather than names. */
const shortestPart = 3

/** IPv4 addresses are taken as they are. Capitals mean nothing in the name of a host. */
function fuzzy(
  all: readonly Server[],
  { host, hint }: { readonly host: string; readonly hint: string },
  names: Names,
): Server | undefined {
  if (host.length < shortestPart || /^\d+\.\d+\.\d+\.\d+$/.test(host)) return undefined
  const part = (host === hint || hint.endsWith(`:${defaultPort}`) ? host : hint).toLowerCase()
  const isMeant = (text: string): boolean =>
    names === 'parts' ? text.includes(part) : ['.', ':'].some((end) => text.startsWith(`${part}${end}`))
  const found = all.filter(({ name, key }) => [name, keyText(key)].some((each) => isMeant(each.toLowerCase())))
  return found.length === 1 ? found[0] : undefined
}
