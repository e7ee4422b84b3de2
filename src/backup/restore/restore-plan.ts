import { counted, joined, say, text, type Said, type Sentence } from '#common/sentence/sentence.ts'
import { abbreviated } from '#common/text/words.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { BackupName } from '../objects/backup-name.ts'
import { chainFrom, latestOf, type Chain, type Step } from '../archive/chain.ts'
import { goesBeyond, upToLast } from './gtid-sources.ts'
import { historyOf, type Archive, type ArchivedEpoch } from '../archive/history.ts'
import type { Manifest } from '../objects/manifest.ts'
import { moment } from '#common/sentence/moment.ts'
import { whyNotPlain } from '../keys/plain.ts'
import { whyNotForServer } from './server-fit.ts'
import { chainsOf, describePossible, furthest, spanOf, windowOf, type Span } from './window.ts'

export type Target =
  | { readonly kind: 'newest' }
  /** All transactions committed up to this moment, which is a whole second. */
  | { readonly kind: 'moment'; readonly ms: number }
  /** Everything until all of these are there, and nothing behind the last of them. */
  | { readonly kind: 'gtids'; readonly gtids: GtidSet }
  /** Everything before this one transaction, such as the one that dropped a table. */
  | { readonly kind: 'before'; readonly gtids: GtidSet }
  /** The named backup, and nothing behind it. */
  | { readonly kind: 'backup'; readonly name: BackupName }

export interface Asked {
  readonly target: Target
  /** The backup to begin with; no other is taken. */
  readonly from?: BackupName | undefined
  /** Version of the server that will open the data. */
  readonly serverVersion: string
  /** Ids of the keys at hand. */
  readonly keyIds: readonly string[]
  /** True where there are keys: backups that are not encrypted are not taken then. */
  readonly refusesPlain?: boolean
}

export interface Plan {
  readonly kind: 'plan'
  readonly backup: Manifest
  /** The steps in the order of the replay; each replays only the transactions that its `gtids` name. */
  readonly steps: readonly Step[]
  /** The replay ends before the first transaction that was committed later; null: behind the last step. */
  readonly untilMs: number | null
  /** The state that is reached; where `untilMs` is given, at most. */
  readonly gtids: GtidSet
  /** Why the newest state that can be reached is not the newest of the archive. Absent where nothing lies between. */
  readonly hole?: Sentence
  /**
   * Why the newest backup is not taken. Absent where the plan takes the newest, or where the newest is not asked for.
   */
  readonly passedOver?: Sentence
  /** Why the rest of the archive is left out: nobody signed the rest. Absent where nothing is left out so. */
  readonly unsigned?: Sentence
}

export interface Refused {
  readonly kind: 'refused'
  /** The reason, with what would be possible. */
  readonly why: Sentence
}

/** The objects that a restore must read, and their order; decided before anything is downloaded. */
export function planRestore(archive: Archive, asked: Asked): Plan | Refused {
  const named = asked.target.kind === 'backup' ? asked.target.name : asked.from
  const offered = archive.manifests.filter(({ name }) => named === undefined || name === named)
  if (offered.length === 0) return refused(whyNone(archive, named))
  const usable = offered.filter((manifest) => whyUnusable(manifest, asked) === '')
  const newest = offered.reduce((best, manifest) => (manifest.endedAtMs > best.endedAtMs ? manifest : best))
  const why = whyUnusable(newest, asked)
  if (usable.length === 0) return refused(say`${why}`)
  const planned = planWith({ ...archive, manifests: usable }, asked.target)
  const passesOver = why !== '' && asked.target.kind === 'newest' && planned.kind === 'plan'
  return passesOver ? { ...planned, passedOver: say`${why}` } : planned
}

/** `backup 20261126T031209Z of shop, and 12 transactions of the archive, up to what was committed by …`. */
export function describePlan(plan: Plan): Sentence {
  return withHole(describeSteps(plan), plan)
}

/** Adds to a sentence about a plan that the store has more, which cannot be had. */
export function withHole(said: Sentence, plan: Pick<Plan, 'hole' | 'passedOver' | 'unsigned'>): Sentence {
  const { hole, passedOver, unsigned } = plan
  const more = [
    ...(passedOver === undefined ? [] : [say`a newer backup is left out: ${passedOver}`]),
    ...(unsigned === undefined ? [] : [say`the archive behind that is left out: ${unsigned}`]),
    ...(hole === undefined ? [] : [say`behind that is a hole: ${hole}`]),
  ]
  return more.reduce((all, each) => say`${all}; ${each}`, said)
}

function describeSteps({ backup, steps, untilMs, gtids }: Plan): Sentence {
  const what = say`backup ${backup.name} of cluster ${backup.cluster}`
  if (steps.length === 0) return say`${what} is restored; nothing of the archive is replayed`
  const behind = counted(gtids.subtract(GtidSet.parse(backup.gtids)).count(), 'transaction')
  if (untilMs === null) return say`${what} is restored, and ${behind} behind that are replayed`
  return say`${what} is restored, and up to ${behind} behind that are replayed, as far as they were committed by ${moment(untilMs)}`
}

function whyNone({ manifests }: Archive, named: BackupName | undefined): Sentence {
  if (manifests.length === 0) return say`the store has no whole backup of this cluster: make one first`
  const names = manifests.map(({ name }) => name).toSorted()
  const shown = names.length > 6 ? [names[0] ?? '', '…', ...names.slice(-4)] : names
  return say`backup ${named ?? ''} is not there or not whole; there are: ${joined(shown, ', ')}`
}

function whyUnusable(manifest: Manifest, asked: Asked): Said {
  const { name, mysqlVersion } = manifest
  return whyNotOpened(manifest, asked) || whyNotForServer(name, mysqlVersion, asked.serverVersion)
}

/** Why a holder of these keys does not take a backup; '' where the backup is taken. */
export function whyNotOpened(
  { name, encryption }: Pick<Manifest, 'name' | 'encryption'>,
  { keyIds, refusesPlain }: Pick<Asked, 'keyIds' | 'refusesPlain'>,
): Said {
  if (encryption === null) return refusesPlain === true ? whyNotPlain(say`backup ${name}`) : ''
  if (keyIds.includes(encryption.keyId)) return ''
  return keyIds.length === 0
    ? say`backup ${name} is encrypted with key ${encryption.keyId}, and no key was given: give the file of that key`
    : say`backup ${name} is encrypted with key ${encryption.keyId}, not ${joined(keyIds, ', ')}: give the file of that key`
}

/** Plans with the archive's backups, at least one of which is usable. */
function planWith(archive: Archive, target: Target): Plan | Refused {
  switch (target.kind) {
    case 'backup':
      return planToNewest({ ...archive, pieces: [], openings: [] })
    case 'newest':
      return planToNewest(archive)
    case 'moment':
      return planToMoment(archive, target.ms)
    case 'gtids':
      return planByGtids(archive, target.gtids, stepsUntil)
    case 'before':
      return planByGtids(archive, target.gtids, stepsBefore)
  }
}

function planToNewest(archive: Archive): Plan | Refused {
  const chain = furthest(chainsOf(archive))
  if (chain === null) return refused(whyNone(archive, undefined))
  return { ...planOf(chain), ...(chain.hole !== null && { hole: chain.hole.why }) }
}

function planToMoment(archive: Archive, ms: number): Plan | Refused {
  const chain = chainsOf(archive).find((each) => isWithin(spanOf(each), ms))
  if (chain === undefined) return refused(whyNotTo(archive, ms))
  const end = chain.steps.findIndex((step) => latestOf(step) > ms)
  const cut = chain.steps[end]
  const steps = cut === undefined ? chain.steps : chain.steps.slice(0, cut.piece.firstMs > ms ? end : end + 1)
  return { ...planOf(chain, steps), untilMs: ms }
}

function isWithin(span: Span | null, ms: number): boolean {
  return span !== null && span.fromMs <= ms && ms <= span.toMs
}

function whyNotTo(archive: Archive, ms: number): Sentence {
  const window = windowOf(archive)
  const hole = window.holes.find(
    ({ afterMs }) => afterMs <= ms && window.spans.every(({ fromMs }) => fromMs <= afterMs || fromMs > ms),
  )
  const possible = say`possible is ${describePossible(window)}`
  return hole === undefined
    ? say`moment ${moment(ms)} is outside of the window: ${possible}`
    : say`moment ${moment(ms)} is behind a hole: ${hole.why}; ${possible}`
}

/**
 * The steps of a chain that lead to the transactions; null where the chain does not.
 * @param began the transactions that epochs began with
 */
type Way = (chain: Chain, gtids: GtidSet, began: readonly GtidSet[]) => readonly Step[] | null

/**
 * The lengths of a history at which a chain may reach these transactions, the longest first. A shorter history reaches
 * more only where the epoch behind that began without them. And a history reaches nothing that none of its pieces has.
 */
export function lengthsToTry({ manifests, pieces }: Archive, history: readonly ArchivedEpoch[], gtids: GtidSet) {
  const copied = manifests.reduce((left, manifest) => left.subtract(GtidSet.parse(manifest.gtids)), gtids)
  if (!pieces.reduce((left, { source, from, to }) => left.subtract(GtidSet.range(source, from, to)), copied).isEmpty())
    return []
  let left = copied
  const least = history.findIndex(({ pieces: ofEpoch }) => {
    left = ofEpoch.reduce((some, piece) => some.subtract(piece.gtids), left)
    return left.isEmpty()
  })
  return [...history.keys(), history.length].toReversed().filter((length) => {
    const behind = history[length]
    const isLost = behind?.opening?.gtids.contains(gtids) === false
    return behind === undefined || (isLost && length > (copied.isEmpty() ? -1 : least))
  })
}

/**
 * The plan looks also at histories that ended at a failover, after the newest history. Transactions that were shipped
 * and then lost can be had back by their GTIDs.
 */
function planByGtids(archive: Archive, gtids: GtidSet, way: Way): Plan | Refused {
  const history = historyOf(archive)
  const began = history.flatMap(({ opening }) => opening?.gtids ?? [])
  const manifests = archive.manifests.toSorted((one, other) => other.endedAtMs - one.endedAtMs)
  for (const epochs of lengthsToTry(archive, history, gtids))
    for (const manifest of manifests) {
      const chain = chainFrom(manifest, history.slice(0, epochs))
      const steps = way(chain, gtids, began)
      if (steps !== null) return planOf(chain, steps)
    }
  return refused(whyNotThese(archive, gtids))
}

function stepsUntil({ backup, steps }: Chain, wanted: GtidSet, began: readonly GtidSet[]): readonly Step[] | null {
  const [copied, most] = [GtidSet.parse(backup.gtids), GtidSet.parse(backup.gtidsAtMost)]
  if (goesBeyond(most, wanted)) return null
  // Numbers of a later primary tell no order. An epoch that began with all that is wanted tells what came behind.
  if (began.some((gtids) => gtids.contains(wanted) && !gtids.contains(most))) return null
  let lacking = wanted.subtract(copied)
  if (lacking.isEmpty()) return []
  const end = steps.findIndex(({ gtids }) => {
    lacking = lacking.subtract(gtids)
    return lacking.isEmpty()
  })
  const last = steps[end]
  if (last === undefined) return null
  return [...steps.slice(0, end), { piece: last.piece, gtids: last.gtids.intersect(upToLast(wanted)) }]
}

function stepsBefore({ backup, steps }: Chain, bad: GtidSet): readonly Step[] | null {
  // A transaction that was committed while the server was copied may be in the copy.
  if (!GtidSet.parse(backup.gtidsAtMost).intersect(bad).isEmpty()) return null
  const end = steps.findIndex(({ gtids }) => gtids.contains(bad))
  const cut = steps[end]
  if (cut === undefined) return null
  const before = cut.gtids.intersect(upToLast(bad).subtract(bad))
  return [...steps.slice(0, end), ...(before.isEmpty() ? [] : [{ piece: cut.piece, gtids: before }])]
}

function whyNotThese(archive: Archive, gtids: GtidSet): Sentence {
  const chains = chainsOf(archive)
  const reached = chains.reduce((all, chain) => all.union(chain.gtids), GtidSet.empty)
  const lacking = gtids.subtract(reached)
  const shown = text(abbreviated((lacking.isEmpty() ? gtids : lacking).toString()))
  const newest = furthest(chains)
  const possible = say`possible is up to ${text(abbreviated(newest?.gtids.toString() ?? ''))}`
  if (!lacking.isEmpty()) return say`transactions ${shown} are in no backup and behind none: ${possible}`
  return say`transactions ${shown} are in each backup, with later ones: an older backup is needed; ${possible}`
}

function planOf({ backup, ...chain }: Chain, steps: readonly Step[] = chain.steps): Plan {
  const gtids = steps.reduce((all, step) => all.union(step.gtids), GtidSet.parse(backup.gtids))
  return { kind: 'plan', backup, steps, untilMs: null, gtids }
}

function refused(why: Sentence): Refused {
  return { kind: 'refused', why }
}
