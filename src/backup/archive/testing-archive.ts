import fc from 'fast-check'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Archive } from './history.ts'
import type { Manifest } from '../objects/manifest.ts'
import type { Opening } from '../objects/opening.ts'
import type { Piece } from '../objects/piece-name.ts'
import type { Plan } from '../restore/restore-plan.ts'
import { aManifest, sourceA, sourceB, sourceC, startMs } from '../objects/testing.ts'

/** A transaction of a made-up cluster. */
export interface Committed {
  readonly gtid: string
  readonly source: string
  readonly number: number
  readonly ms: number
  readonly epoch: number
}

/** A made-up cluster: its true commits in their order, and the part of them that was shipped. */
export interface Story {
  readonly history: readonly Committed[]
  readonly archive: Archive
  /** The number of transactions before the archive began. */
  readonly before: number
  readonly archived: number
}

/** A chapter is an epoch: its primary, its commits (1 = with a tag), and the faults of its shipping. */
const chapterWith = (phantoms: number) =>
  fc.record({
    leader: fc.nat(2),
    tagged: fc.array(fc.boolean(), { maxLength: 9 }),
    /** Transactions acknowledged, and not shipped before the primary died. */
    unshipped: fc.nat(3),
    /** Transactions shipped, and lost with the primary. */
    phantoms: fc.nat(phantoms),
    longest: fc.integer({ min: 1, max: 4 }),
    /** The place where a second sender begins, and the length of its pieces; 0 = none. */
    second: fc.record({ skips: fc.nat(6), longest: fc.nat(3) }),
  })
type Chapter = ReturnType<typeof chapterWith> extends fc.Arbitrary<infer C> ? C : never

export const storyWith = (most: { readonly phantoms: number }): fc.Arbitrary<Story> =>
  fc
    .record({
      chapters: fc.array(chapterWith(most.phantoms), { minLength: 1, maxLength: 5 }),
      before: fc.nat(4),
      backups: fc.array(fc.record({ place: fc.nat(40), lag: fc.nat(3) }), { minLength: 1, maxLength: 4 }),
    })
    .map(({ chapters, before, backups }) => tell(chapters, before, backups))

const leaders = [sourceA, sourceB, sourceC] as const

function tell(
  chapters: readonly Chapter[],
  before: number,
  backups: readonly { readonly place: number; readonly lag: number }[],
): Story {
  const history = commits(
    [],
    1,
    sourceA,
    Array.from({ length: before }, () => false),
  )
  const openings: Opening[] = []
  const pieces: Piece[] = []
  let archived = before
  chapters.forEach((chapter, at) => {
    const epoch = at + 1
    const isLast = epoch === chapters.length
    const leader = leaders[chapter.leader] ?? sourceA
    openings.push({ epoch, atMs: (history.at(-1)?.ms ?? startMs) + 1, gtids: setOf(history) })
    history.push(...commits(history, epoch, leader, chapter.tagged))
    const end = Math.max(archived, history.length - chapter.unshipped)
    const lost =
      isLast || chapter.unshipped > 0 ? [] : commits(history, epoch, leader, Array(chapter.phantoms).fill(false))
    // The clock of a lost primary goes on while others lead already.
    const seen = [...history, ...lost.map((each) => ({ ...each, ms: each.ms + 4_000 }))]
    const shippedTo = lost.length > 0 ? seen.length : end
    pieces.push(...shipped(seen, [archived, shippedTo], chapter.longest, { epoch, sender: 'shop-0@a0' }))
    const { skips, longest } = chapter.second
    const from = archived + skips
    if (longest > 0) pieces.push(...shipped(seen, [from, shippedTo], longest, { epoch, sender: 'shop-1@b0' }))
    archived = end
  })
  const manifests = backups.map((each) => backupAt(history, each))
  return { history, archive: { manifests: named(manifests), openings, pieces }, before, archived }
}

function commits(history: readonly Committed[], epoch: number, uuid: string, tagged: readonly boolean[]): Committed[] {
  const all = [...history]
  for (const isTagged of tagged) {
    const source = isTagged ? `${uuid}:app` : uuid
    const number = all.filter((each) => each.source === source).length + 1
    const ms = (all.at(-1)?.ms ?? startMs) + 1 + ((all.length * 7_919) % 2_500)
    all.push({ gtid: `${source}:${number}`, source, number, ms, epoch })
  }
  return all.slice(history.length)
}

function shipped(
  seen: readonly Committed[],
  [from, to]: readonly [number, number],
  longest: number,
  shipping: Pick<Piece, 'epoch' | 'sender'>,
): readonly Piece[] {
  const pieces: Piece[] = []
  let at = from
  while (at < to) {
    const first = seen[at]
    if (first === undefined) break
    let length = 1
    while (length < longest && at + length < to && seen[at + length]?.source === first.source) length += 1
    const { source, number } = first
    const lastMs = seen[at + length - 1]?.ms ?? first.ms
    const numbers = { from: number, to: number + length - 1 }
    pieces.push({
      ...shipping,
      firstMs: first.ms,
      lastMs,
      source,
      ...numbers,
      preceding: at,
      file: 'binlog.000001',
      offset: at,
    })
    at += length
  }
  return pieces
}

function backupAt(
  history: readonly Committed[],
  { place, lag }: { readonly place: number; readonly lag: number },
): Manifest {
  const copied = Math.min(place, history.length)
  const seen = history[Math.min(copied + lag, history.length) - 1]
  return aManifest({
    epoch: seen?.epoch ?? 1,
    endedAtMs: (seen?.ms ?? startMs) + 1,
    gtids: setOf(history.slice(0, copied)).toString(),
  })
}

/** Two backups of one second have two names. */
function named(manifests: readonly Manifest[]): readonly Manifest[] {
  return manifests.map((manifest, at) => ({ ...manifest, name: `20261126T03120${at}Z` }))
}

export function setOf(committed: readonly Committed[]): GtidSet {
  return GtidSet.parse(committed.map(({ gtid }) => gtid).join(','))
}

/** The result of a restore by this plan: transactions replayed one by one, in the order of a real restore. */
export function replayed(
  { history, archive }: Story,
  plan: Plan,
): { readonly gtids: GtidSet; readonly order: readonly string[] } {
  const msOf = new Map(history.map(({ gtid, ms }) => [gtid, ms]))
  const shippedMs = new Map(archive.pieces.map((piece) => [`${piece.source}:${piece.to}`, piece.lastMs]))
  const order: string[] = []
  for (const gtid of plan.steps.flatMap(({ gtids }) => [...gtids.each()])) {
    const ms = msOf.get(gtid) ?? shippedMs.get(gtid) ?? 0
    if (plan.untilMs !== null && ms > plan.untilMs) break
    order.push(gtid)
  }
  return { gtids: GtidSet.parse(plan.backup.gtids).union(GtidSet.parse(order.join(','))), order }
}
