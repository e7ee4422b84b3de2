import { counted, duration, say, type Said, type Sentence } from '#common/sentence/sentence.ts'
import type { StoredObject } from '#object-store/object-store.ts'
import type { BackupName } from '../objects/backup-name.ts'
import { parseKey, type BackupKey } from '../objects/object-key.ts'
import { sweepArchive } from './archive-sweep.ts'
import { judgeWhole, type Retention } from './retention-rules.ts'
import { sumOf, type Item, type Known, type Stock, type Sweep } from './sweep.ts'

/** No upload of a part takes so long, at any throttle. */
export const stillWritingMs = 24 * 3_600_000

/**
 * The time by the store's own clock, as far as that is known: the time of the newest object. A clock here that is ahead
 * would make a leftover of a run that is under way. So a clock here counts only where that clock is behind.
 * @param nowMs by the clock here
 * @returns milliseconds; -Infinity where nothing lies there
 */
export function storeNowMs(objects: Iterable<Pick<StoredObject, 'modifiedMs'>>, nowMs: number): number {
  return Math.min(nowMs, newestMs(objects))
}

/** Uploads that began before this time, and that nobody ended, are given up. Parameters and unit as `storeNowMs` */
export function unfinishedBeforeMs(objects: Iterable<Pick<StoredObject, 'modifiedMs'>>, nowMs: number): number {
  return storeNowMs(objects, nowMs) - stillWritingMs
}

function newestMs(objects: Iterable<Pick<StoredObject, 'modifiedMs'>>): number {
  let newest = -Infinity
  for (const { modifiedMs } of objects) newest = Math.max(newest, modifiedMs)
  return newest
}

/**
 * Sorts a store by a rule. A manager that dies in the middle of the deletions leaves a right state at any moment. The
 * manifest of a backup goes first, so that the rest is the leftover of a run. The archive goes by backups that stay.
 */
export function planRetention(stock: Stock, rule: Retention, nowMs: number): Sweep {
  const backups = sweepBackups(knownOf(stock), stock, rule, storeNowMs(stock.objects, nowMs))
  const archive = archiveBeside(stock, new Set(backups.delete.flatMap(({ keys }) => keys)))
  return { delete: [...backups.delete, ...archive.delete], keep: [...backups.keep, ...archive.keep] }
}

/**
 * The archive's part of a plan, whose backups are deleted as far as the store let that happen. A backup that the store
 * locks needs its binary logs, and the plan did without that backup.
 * @param stays keys that were to be deleted and are still there
 */
export function archiveAfter(planned: Sweep, stock: Stock, stays: ReadonlySet<string>): Sweep {
  const asPlanned = { delete: planned.delete.filter(isArchive), keep: planned.keep.filter(isArchive) }
  if (asPlanned.delete.length === 0 || stays.size === 0) return asPlanned
  const gone = planned.delete.filter((item) => !isArchive(item)).flatMap(({ keys }) => keys)
  return archiveBeside(stock, new Set(gone.filter((key) => !stays.has(key))))
}

/** Pieces of binary logs, which follow the backups that stay. */
export function isArchive({ kind }: Item): boolean {
  return kind === 'archive'
}

function archiveBeside(stock: Stock, gone: ReadonlySet<string>): Sweep {
  return sweepArchive(
    knownOf(stock).filter(({ object }) => !gone.has(object.key)),
    stock,
  )
}

function knownOf({ objects }: Stock): readonly Known[] {
  return objects.flatMap((object) => {
    const key = parseKey(object.key)
    return key === null ? [] : [{ key, object }]
  })
}

type OfBackup = Extract<BackupKey, { readonly name: BackupName }>

function sweepBackups(known: readonly Known[], stock: Stock, rule: Retention, nowMs: number): Sweep {
  const { manifests } = stock
  const whole = manifests.filter(({ name }) => known.some(({ key }) => key.kind === 'manifest' && key.name === name))
  const verdicts = judgeWhole(whole, stock, rule)
  const sweep = { delete: [] as Item[], keep: [] as Item[] }
  for (const [name, objects] of Map.groupBy(known.filter(isOfBackup), ({ key }) => key.name)) {
    const verdict = verdicts.get(name) ?? judgeUnread(name, objects, stock, nowMs)
    const kind = objects.some(({ key }) => key.kind === 'manifest') ? 'backup' : 'leftover'
    sweep[verdict.stays ? 'keep' : 'delete'].push({ kind, ...sumOf(objects), why: verdict.why })
  }
  return sweep
}

function isOfBackup(known: Known): known is Known<OfBackup> {
  return 'name' in known.key
}

/** The verdict on a run without a manifest, or with a manifest that cannot be read here. */
function judgeUnread(
  name: BackupName,
  objects: readonly Known<OfBackup>[],
  { standing }: Pick<Stock, 'standing'>,
  nowMs: number,
) {
  if (objects.some(({ key }) => key.kind === 'manifest'))
    return {
      stays: true,
      why: say`backup ${name} has a manifest that this Regent cannot read: nothing of that is touched`,
    }
  if (standing?.has(name) === true)
    return { stays: false, why: say`run ${name} did not finish: nothing was written to it for a day` }
  const ageMs = ageOf(objects, nowMs)
  const why = whyStillWriting(name, objects, nowMs)
  return why === ''
    ? { stays: false, why: say`run ${name} did not finish: its newest object is ${duration(ageMs)} old` }
    : { stays: true, why }
}

/**
 * Why a run without a manifest may be under way; '' where the run's last write is long ago.
 * @param nowMs as `storeNowMs` gives that
 */
export function whyStillWriting(name: BackupName, objects: readonly Known[], nowMs: number): Said {
  const ageMs = ageOf(objects, nowMs)
  if (ageMs >= stillWritingMs) return ''
  return say`run ${name} may still be writing: its newest object is ${ageMs < 60_000 ? say`less than a minute` : duration(ageMs)} old`
}

function ageOf(objects: readonly Known[], nowMs: number): number {
  return nowMs - newestMs(objects.map(({ object }) => object))
}

/** Tells a person of a dry run: deletions first. */
export function describeSweep(sweep: Sweep): readonly Sentence[] {
  const line = (fate: string) => (item: Item) =>
    say`${item.why} (${fate}, ${counted(item.keys.length, 'object')}, ${counted(item.bytes, 'byte')})`
  return [...sweep.delete.map(line('deleted')), ...sweep.keep.map(line('kept'))]
}
