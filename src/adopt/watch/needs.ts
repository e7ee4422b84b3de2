import type { ExplainView } from '#api-contract/explain-view.ts'
import type { Adoption } from '../adoption.ts'
import { addressText } from '../host-address.ts'
import type { SeenServer } from '../servers/seen.ts'
import { treeOf } from './links.ts'
import { answers, type Look } from './look.ts'
import { findPrimary } from './primary.ts'
import { requirements, setting, wordIn, type Lack, type Lacking } from './requirements.ts'
import { whatSemiSyncBecomes } from './semi-sync-off.ts'
import { whatNoSshMeans } from './without-ssh.ts'

/** What several servers lack in the same words, or the whole cluster does. */
export interface Need extends Lack {
  /** The name of the requirement. */
  readonly name: string
  /** Empty: the whole cluster. */
  readonly instances: readonly string[]
}

/** A replica that hears nothing for so long connects anew: until then it is no witness. Agents set just that. */
const netTimeoutSeconds = 5

/** Everything that stands between these servers and being managed; none: they can be managed. */
export function needsFor(adoption: Adoption, looks: readonly Look[]): readonly Need[] {
  const primary = findPrimary(treeOf(adoption.cluster, looks), looks, null)
  const all = { adoption, looks, answering: looks.filter(answers), primary }
  return requirements.flatMap(({ name, lacking }) => together(name, lacking(all)))
}

/** What several servers need in the same words is said once. */
function together(name: string, found: readonly Lacking[]): readonly Need[] {
  const groups = Map.groupBy(found, ([, lack]) => JSON.stringify(lack))
  return [...groups.values()].flatMap((same) => {
    const lack = same[0]?.[1]
    return lack === undefined ? [] : [{ name, instances: same.flatMap(([instance]) => instance ?? []), ...lack }]
  })
}

/** As `regent explain` shows them. */
export function needsOf(adoption: Adoption, looks: readonly Look[]): NonNullable<ExplainView['watched']> {
  return {
    missing: needsFor(adoption, looks).flatMap(linesOf),
    notes: [
      ...together('', slowWitnesses(looks)).flatMap(linesOf),
      ...whatSemiSyncBecomes(adoption, looks),
      ...whatNoSshMeans(adoption),
    ],
    servers: looks.map(({ host, server }) => `${host.instance} at ${addressText(host)}: ${describeDialect(server)}`),
  }
}

/** The need in one line, and below it what to type. */
export function linesOf({ instances, why, sql = [], settings = [], file }: Need): readonly string[] {
  const when = sql.length === 0 ? 'then a restart' : 'for the next start'
  return [
    `${instances.length === 0 ? '' : `${instances.join(', ')}: `}${why}`,
    ...sql.map((line) => `  ${line};`),
    ...(settings.length === 0 ? [] : [`  in [mysqld] of my.cnf, ${when}: ${settings.join(', ')}`]),
    ...(file === undefined ? [] : [`  in the adoption file: ${file}`]),
  ]
}

function describeDialect(server: SeenServer | null): string {
  if (server === null) return 'was never seen'
  const { name, tried, onlyWatched } = server.dialect
  const notes = [
    ...(tried ? [] : ['not tried on a real server, only by the documented grammar']),
    ...(onlyWatched === '' ? [] : [`only watched: ${onlyWatched}`]),
  ]
  return [`${server.version}, spoken to as ${name}`, ...notes].join('; ')
}

/** Agents set that themselves; while Regent only watches their owner may. */
function slowWitnesses(looks: readonly Look[]): readonly Lacking[] {
  const slow = looks
    .filter(answers)
    .filter(({ server }) => server.channels.length > 0 && server.netTimeoutSeconds > netTimeoutSeconds)
  return slow.map(({ host, server }) => {
    const why = `a silent source is noticed after ${server.netTimeoutSeconds} s only, while Regent only watches`
    return [host.instance, { why, ...setting(wordIn(server, 'replica_net_timeout'), String(netTimeoutSeconds)) }]
  })
}
