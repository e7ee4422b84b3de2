import { say, text, type Sentence } from '#common/sentence/sentence.ts'
import type { Analysis } from './analysis.ts'
import { critical, warning, type AnalysisInput } from './analysis-input.ts'
import type { InstanceName } from '../snapshot/member.ts'
import type { InstanceView } from '../snapshot/snapshot.ts'

/** What a person wished, and what makes this manager doubt itself or its record. */
export function analyseStanding({ snapshot, expected }: AnalysisInput): readonly Analysis[] {
  const paused = expected.paused
    ? [warning('Paused', null, say`automatic actions are paused: nothing fails over until they are resumed`)]
    : []
  const fenced = expected.fenced.map((name) => {
    const consequence =
      name === expected.primary
        ? say`nobody can write until it is unfenced`
        : say`it takes no connections until it is unfenced`
    return warning('Fenced', name, say`${name} is fenced by a person: ${consequence}`)
  })
  const damaged = expected.notesDamage ? [critical('NotesDamaged', null, say`${text(expected.notesDamage)}`)] : []
  return [
    ...analyseReach(snapshot.instances),
    ...snapshot.instances.flatMap((view) => analyseRecord(view, expected)),
    ...damaged,
    ...paused,
    ...fenced,
  ]
}

/** A manager that can reach nobody. The manager must suspect itself, and judge nobody. */
export function isIsolated(instances: readonly InstanceView[]): boolean {
  return instances.length > 0 && instances.every(({ reachable }) => !reachable)
}

function analyseReach(instances: readonly InstanceView[]): readonly Analysis[] {
  if (!isIsolated(instances)) return []
  return [
    critical(
      'ManagerIsolated',
      null,
      say`this manager reaches ${instances.length === 1 ? say`not even the only agent` : say`none of ${instances.length} agents`}: it suspects itself and does nothing`,
    ),
  ]
}

/**
 * Agents only know what a record said: an agent that knows more was given orders from a record that is newer than the
 * present one (restored from a backup). A promise may be one epoch ahead while a failover is under way.
 */
function analyseRecord(
  { name, observation }: InstanceView,
  { epoch, revision, primary }: AnalysisInput['expected'],
): readonly Analysis[] {
  if (observation === null) return []
  const { promise, revision: stored, assignment } = observation.stored
  const leads = assignment?.role === 'primary' && assignment.epoch === epoch
  if (leads && primary !== null && name !== primary) return [ofAnotherHistory(name, primary, epoch)]
  const told = assignment === null ? 0 : assignment.epoch
  if (Math.max(promise - 1, told) <= epoch && stored <= revision) return []
  const knows = say`epoch ${Math.max(promise, told)}, revision ${stored}`
  return [older(name, { epoch, revision, knows })]
}

function ofAnotherHistory(name: InstanceName, primary: InstanceName, epoch: number): Analysis {
  const two = say`the record names ${primary} as primary of epoch ${epoch}, and ${name} was made primary in the same epoch`
  const sentence = say`${two}, which has one alone: this record is not the right one; a person must decide`
  return critical('RecordOfAnotherHistory', name, sentence)
}

function older(
  name: InstanceName,
  { epoch, revision, knows }: { readonly epoch: number; readonly revision: number; readonly knows: Sentence },
): Analysis {
  if (revision === 0)
    return critical(
      'RecordLost',
      name,
      say`no record is there, and ${name} acted on one (${knows}): the record is rebuilt once all known members have answered`,
    )
  return critical(
    'RecordFromThePast',
    name,
    say`the record (epoch ${epoch}, revision ${revision}) is older than what ${name} stored (${knows}): a person must decide`,
  )
}
