import { joined, say, text, type Said, type Sentence } from '#common/sentence/sentence.ts'
import { errantOf } from '#topology/snapshot/comparison.ts'
import { backupAsDonor, type SeedingFailure } from '#topology/snapshot/copies.ts'
import { hasDoubtedData } from '../data/doubted-data.ts'
import { hasHole } from '../data/holes.ts'
import { isFollowing, isLive, liveView, viewNamed, type LiveView, type Situation } from '../situation.ts'

/**
 * After its first failure a donor is tried again this long later, after each further one twice as long, up to the
 * longest.
 */
const firstPauseMs = 1_000
const longestPauseMs = 120_000

/** Whom an instance is to be a copy of. */
export interface Donor {
  readonly view: LiveView
  /** Milliseconds until it is tried again after it failed; 0 for now. */
  readonly waitMs: number
  /** The whole pause that is part of; 0 for none. */
  readonly pauseMs: number
}

/**
 * Whom it is copied from already. Else of those who could give the one that did not fail, or failed the longest ago; a
 * follower from the sync set that runs rather than the primary, since a copy costs the donor. A donor that failed only
 * waits, longer each time: what it lacked may be mended, and the fault may have been the copy's own. Null where nobody
 * could give: of tables that are not InnoDB CLONE copies no rows, and from another series it copies nothing.
 */
export function donorFor(situation: Situation, view: LiveView, primary: LiveView): Donor | null {
  const now = viewNamed(situation.snapshot, view.observation.seedingProgress?.donor ?? '')
  if (isLive(now)) return { view: now, waitMs: 0, pauseMs: 0 }
  const [first] = couldGive(situation, view, primary)
    .map((donor) => triedBefore(view, donor))
    .toSorted((one, other) => one.waitMs - other.waitMs || other.agoMs - one.agoMs)
  return first ?? null
}

/** So often each of those who could give a copy has failed, and there is no reason to hope any more. */
const enoughFailures = 3

/** Nobody could give, or each of them failed again and again. */
export function isRefusedByAll(situation: Situation, view: LiveView, primary: LiveView): boolean {
  const failures = view.observation.seedingFailures ?? []
  return couldGive(situation, view, primary).every(({ name }) =>
    failures.some(({ donor, times }) => donor === name && times >= enoughFailures),
  )
}

/** Where that is no donor: what of a backup failed makes only the next one wait. */
export function pauseOfBackup({ name, observation }: LiveView): Pick<Donor, 'pauseMs' | 'waitMs'> {
  const failures = observation.seedingFailures ?? []
  return longestOf(failures.filter(({ donor }) => donor === backupAsDonor || donor === name))
}

/** The primary and nobody else, where it could give. */
export function primaryAsDonor(view: LiveView, primary: LiveView): Donor | null {
  if (!canGive(primary, view)) return null
  return view.observation.seedingProgress === null
    ? triedBefore(view, primary)
    : { view: primary, waitMs: 0, pauseMs: 0 }
}

/**
 * Best first: whoever was told to end is gone before the copy is made. A copy of data in doubt would be in no doubt
 * any more, and the doubt would be on nobody's disk.
 */
function couldGive(situation: Situation, view: LiveView, primary: LiveView): readonly LiveView[] {
  const { record, snapshot } = situation
  const replicas = record.syncSet
    .map((member) => liveView(snapshot, member))
    .filter((candidate) => isFollowing(candidate, situation))
  const able = replicas.filter(
    (candidate) =>
      candidate.name !== view.name &&
      !candidate.observation.stored.forgetful &&
      !hasDoubtedData(candidate.observation.stored) &&
      !hasHole(situation, candidate) &&
      errantOf(candidate.observation, primary.observation).isEmpty(),
  )
  const ending = able.filter(({ observation }) => observation.terminating === true)
  const staying = able.filter((candidate) => !ending.includes(candidate))
  return [...staying.toReversed(), primary, ...ending.toReversed()].filter((candidate) => canGive(candidate, view))
}

function canGive(donor: LiveView, recipient: LiveView): boolean {
  return foreignTablesOf(donor) === '' && canCopy(donor, recipient)
}

/**
 * CLONE copies within a series of MySQL, and releases before 8.0.37 only from the same release (manual, "Clone Plugin
 * Limitations"). A server that does not answer has no known version: a copy may be tried.
 */
function canCopy(donor: LiveView, recipient: LiveView): boolean {
  const [from, to] = [donor, recipient].map(({ observation }) => releaseOf(observation.server?.version ?? ''))
  if (!from || !to) return true
  return (
    from.series === to.series &&
    (from.release === to.release || from.series !== '8.0' || Math.min(from.release, to.release) >= 37)
  )
}

function releaseOf(version: string): { readonly series: string; readonly release: number } | undefined {
  const [, series, release] = /^(\d+\.\d+)\.(\d+)/.exec(version) ?? []
  return series === undefined ? undefined : { series, release: Number(release) }
}

/** What keeps `view` from being a copy of anybody. */
export function whyNoDonor(view: LiveView, primary: LiveView): Sentence {
  const tables = foreignTablesOf(primary)
  if (tables !== '')
    return say`${primary.name} has tables that are not InnoDB (${tables}), and a copy would have none of their rows`
  const own = view.observation.server?.version ?? say`of another series`
  const other = primary.observation.server?.version ?? 'another'
  return say`it runs MySQL ${own}, ${primary.name} ${other}, and a copy is possible within a series only`
}

/** What a person can do about that. */
export function whatGivesADonor(primary: LiveView): Sentence {
  return foreignTablesOf(primary) === '' ? say`Run the same image in both` : say`Convert them first`
}

/** What its own server failed at (reported under its own name) makes it wait for any donor, and speaks against none. */
function triedBefore({ name, observation }: LiveView, view: LiveView): Donor & { readonly agoMs: number } {
  const failures = observation.seedingFailures ?? []
  return {
    view,
    ...longestOf(failures.filter(({ donor }) => donor === view.name || donor === name)),
    agoMs: failures.find(({ donor }) => donor === view.name)?.agoMs ?? Number.MAX_SAFE_INTEGER,
  }
}

function longestOf(failures: readonly SeedingFailure[]): Pick<Donor, 'pauseMs' | 'waitMs'> {
  const [longest] = failures.map(pauseAfter).toSorted((one, other) => other.waitMs - one.waitMs)
  return longest ?? { waitMs: 0, pauseMs: 0 }
}

function pauseAfter({ times, agoMs }: SeedingFailure): Pick<Donor, 'waitMs' | 'pauseMs'> {
  const pauseMs = Math.min(firstPauseMs * 2 ** (times - 1), longestPauseMs)
  return { waitMs: Math.max(0, pauseMs - agoMs), pauseMs }
}

/** Which donors failed and why, to follow a sentence; '' for none. */
export function failedBefore({ name, observation }: LiveView): Said {
  const failures = (observation.seedingFailures ?? []).map(({ donor, times, error }) => {
    const copies = times === 1 ? say`a copy` : say`${times} copies`
    return say`; ${copies}${donor === name ? '' : say` of ${donor}`} failed (${text(error.slice(0, 120))})`
  })
  return joined(failures, '')
}

/** User tables that are not InnoDB, as text; '' for none. */
function foreignTablesOf({ observation }: LiveView): string {
  return observation.server?.foreignTables.join(', ') ?? ''
}
