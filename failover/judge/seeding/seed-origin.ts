import { counted, mebibytes, say, text, type Sentence } from '#common/sentence/sentence.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { backupAsDonor, gtidsShown, type BackupsSeen } from '#topology/snapshot/copies.ts'
import { holdsOf } from '#topology/snapshot/holdings.ts'
import { backupFolderOf, type BackupToSeedFrom } from '#failover/protocol/backup-store.ts'
import { isUncopied } from '../data/doubted-members.ts'
import { donorFor, isRefusedByAll, pauseOfBackup, whatGivesADonor, whyNoDonor, type Donor } from './donor.ts'
import { isFollowing, viewOf, type LiveView, type Situation } from '../situation.ts'

/** A copy of so much reads the disk of its donor for about a minute, at 200 MB in a second. */
const largeBytes = 10 * 1_073_741_824

/** The backup that an instance is to be seeded from. */
export interface BackupOrigin {
  readonly order: BackupToSeedFrom
  /** The newest that is seen. */
  readonly name: string
  /** Why no donor is. */
  readonly why: Sentence
  readonly waitMs: number
  readonly pauseMs: number
}

/** What an instance is to be seeded from: one of the two, or neither. */
export interface Origin {
  readonly donor: Donor | null
  readonly backup: BackupOrigin | null
}

/**
 * A copy of a donor, unless nobody can give one, or a backup spares the primary: a copy is newer, and made in a quarter
 * of the time (docs/guide/backup.md, "What it costs").
 */
export function originFor(situation: Situation, view: LiveView, primary: LiveView): Origin {
  const donor = donorFor(situation, view, primary)
  // What a backup and the archive have may be the rows of those who were not chosen.
  if (isUncopied(situation.record, view.observation)) return { donor, backup: null }
  const why = whyFromBackup(situation, view, primary, donor)
  const seen = why === null ? undefined : newestFor(situation, view, primary)
  if (why === null || seen === undefined || 'whyNot' in seen) return { donor, backup: null }
  const pause = pauseOfBackup(view)
  // While the one waits the other is tried.
  if (donor !== null && pause.waitMs > 0 && !isFromBackup(view)) return { donor, backup: null }
  const { order, newest } = seen
  return { donor: null, backup: { order, name: newest.name, why, ...pause } }
}

/** As the end of a sentence about an instance that nobody can be copied for, and that no backup is there for. */
export function whyNoOrigin(situation: Situation, view: LiveView, primary: LiveView): Sentence {
  const seen = newestFor(situation, view, primary)
  const whyNot = 'whyNot' in seen ? say`; nor from a backup: ${seen.whyNot}` : ''
  return say`${whyNoDonor(view, primary)}. ${whatGivesADonor(primary)}${whyNot}`
}

function isFromBackup({ observation }: LiveView): boolean {
  return observation.seedingProgress?.donor === backupAsDonor
}

/** Null where a donor is better. */
function whyFromBackup(situation: Situation, view: LiveView, primary: LiveView, donor: Donor | null): Sentence | null {
  if (donor === null) return whyNoDonor(view, primary)
  if (view.observation.seedingProgress !== null) return isFromBackup(view) ? say`that was begun` : null
  if (isRefusedByAll(situation, view, primary)) return say`nobody could be copied`
  return donor.view.name === primary.name ? whySparePrimary(situation, primary) : null
}

/**
 * A copy of much data slows the writes of its donor down for minutes. Where the primary is the only donor, and takes
 * writes, a backup spares it that: if no more was written since than an empty instance would apply anyhow. A primary
 * whose writes wait for replicas is copied: the sooner one is back the better. The primary looks at the store more
 * seldom than at itself: a newer backup makes less of what was written since.
 */
function whySparePrimary(situation: Situation, primary: LiveView): Sentence | null {
  const { record, snapshot, spec } = situation
  const newest = primary.observation.backups?.newest
  const held = gtidsShown(newest?.gtids ?? '')
  if (!newest || held === null || newest.rawBytes <= largeBytes) return null
  const following = record.syncSet.filter((member) => isFollowing(viewOf(snapshot, member), situation))
  if (following.length < record.acksWanted) return null
  const behind = holdsOf(primary.observation).subtract(held).count()
  if (behind > spec.cloneAboveTransactions) return null
  return say`only the primary ${primary.name} could be copied, and a copy of ${mebibytes(newest.rawBytes)} would slow its writes down`
}

type NewestBackup = NonNullable<BackupsSeen['newest']>

/** The newest backup, where that and the archive reach what the primary's binlogs begin with, as far as can be seen. */
function newestFor(
  situation: Situation,
  view: LiveView,
  primary: LiveView,
): { readonly order: BackupToSeedFrom; readonly newest: NewestBackup } | { readonly whyNot: Sentence } {
  const { spec, cluster } = situation
  if (spec.backup === undefined) return { whyNot: say`none are made of this cluster` }
  if (view.observation.seedsFromBackup !== true)
    return { whyNot: say`the agent of ${view.name} is older than that, or can open no store` }
  const { backups } = primary.observation
  if (backups === undefined) return { whyNot: say`${primary.name} has not looked at the store yet` }
  if (!backups.answers) return { whyNot: say`the store cannot be looked at (${text(backups.sentence.slice(0, 120))})` }
  const { newest } = backups
  if (newest === null) return { whyNot: say`the store has none that is whole` }
  const purged = primary.observation.server?.purged ?? ''
  const whyNot = whyTooOld(newest, purged, primary)
  if (whyNot !== null) return { whyNot }
  const { store } = spec.backup
  return { newest, order: { store, of: backupFolderOf({ cluster, store }), purged } }
}

/** What the store has is looked at more closely by the agent, before anything is downloaded. */
function whyTooOld({ name, gtids = '' }: NewestBackup, purged: string, { observation }: LiveView): Sentence | null {
  const held = gtidsShown(gtids)
  const lacks = held === null ? null : parseGtidSet(purged).subtract(held)
  if (lacks?.isEmpty() === true) return null
  const archive = observation.binlogArchive
  if (archive?.hole === '' && archive.behindMs !== null) return null
  const count = lacks === null ? say`transactions` : counted(lacks.count(), 'transaction')
  const nor = archive === undefined ? say`is not there` : say`does not have those either`
  return say`${name} is too old: it lacks ${count} that the primary has in no binlog any more, and the archive ${nor}`
}
