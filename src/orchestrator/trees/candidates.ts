import { binlogNumberIn } from '#common/mysql/binlog-number.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Coordinates, Instance } from '../documents/instance.ts'
import { keyText } from '../documents/key.ts'
import type { WhyNot } from './checks.ts'
import { isBelow, masterOf, type Tree } from './tree.ts'

const rules = ['must', 'prefer', 'neutral', 'prefer_not', 'must_not']

/** The smaller the better. */
export function ruleRank({ PromotionRule }: Instance): number {
  return rules.indexOf(PromotionRule)
}

export function held({ ExecutedGtidSet }: Instance): GtidSet {
  return GtidSet.parse(ExecutedGtidSet)
}

/** Below zero where the first is behind the second. Names of binlogs are compared by their numbers. */
export function comparePlaces(one: Coordinates, other: Coordinates): number {
  return binlogNumberIn(one.LogFile) - binlogNumberIn(other.LogFile) || one.LogPos - other.LogPos
}

/** Servers below `root` that answer: they got their data from there. */
export function livingBelow(tree: Tree, root: Instance): Tree {
  return tree.filter((one) => one !== root && one.IsLastCheckValid && isBelow(tree, one, root))
}

/** Its source does not answer, or is the one that is lost. */
export function isOrphan(tree: Tree, one: Instance, lost: Instance): boolean {
  const master = masterOf(tree, one)
  return master === undefined || master === lost || !master.IsLastCheckValid
}

const formats = ['STATEMENT', 'MIXED', 'ROW']

/** Why a server may not lead the others: orchestrator’s rules, and that all data come with that server. */
export function whyNoCandidate(one: Instance, root: Instance, among: Tree): WhyNot {
  const key = keyText(one.Key)
  if (one.PromotionRule === 'must_not') return `${key} cannot be promoted due to promotion rule`
  if (!one.LogBinEnabled) return `${key}: instance does not have binary logs enabled`
  if (!one.LogSlaveUpdatesEnabled) return `${key}: instance does not have log_slave_updates enabled`
  const version = mostCommon(among.map(seriesOf))
  if (compareSeries(seriesOf(one), version) > 0) return `${key} has version ${one.Version}: most others have ${version}`
  const format = mostCommon(among.map((each) => each.Binlog_format))
  if (formats.indexOf(one.Binlog_format) > formats.indexOf(format))
    return `${key} has binlog format ${one.Binlog_format}: most others have ${format}`
  return whyOtherData(one, root)
}

function whyOtherData(one: Instance, root: Instance): WhyNot {
  const key = keyText(one.Key)
  if (one.HasReplicationFilters) return `${key} has replication filters`
  if (one.ReplicationSQLThreadState !== 1) return `${key}: its SQL thread does not run`
  const errant = errantBeside(one, root)
  return errant.isEmpty() ? undefined : `${key} has errant GTID ${errant.toString()}`
}

/** What a server has, and neither its root had when that was seen last, nor wrote since. */
export function errantBeside(one: Instance, root: Instance): GtidSet {
  if (root.ServerUUID === '') return GtidSet.empty
  return held(one).subtract(held(root)).withoutSource(root.ServerUUID)
}

function seriesOf({ Version }: Instance): string {
  return Version.split('.').slice(0, 2).join('.')
}

function compareSeries(one: string, other: string): number {
  const [a = 0, b = 0] = one.split('.').map(Number)
  const [c = 0, d = 0] = other.split('.').map(Number)
  return a - c || b - d
}

/**
 * The most common value; of values that are equally common the smaller one, because the others can read what it writes.
 */
function mostCommon(all: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const each of all) counts.set(each, (counts.get(each) ?? 0) + 1)
  const sorted = [...counts].toSorted(([one, many], [other, more]) => more - many || compareText(one, other))
  return sorted[0]?.[0] ?? ''
}

function compareText(one: string, other: string): number {
  return formats.indexOf(one) - formats.indexOf(other) || compareSeries(one, other)
}
