import { command, counted, joined, say, text, type Said, type Sentence } from '#common/sentence/sentence.ts'
import { errantOf } from '#topology/snapshot/comparison.ts'
import { isErrant } from '../judge/data/errant.ts'
import { instanceOf, type InstanceName, type MemberId } from '#topology/snapshot/member.ts'
import type { InstanceView } from '#topology/snapshot/snapshot.ts'
import { hasHole } from '../judge/data/holes.ts'
import { endOfPause } from './resuming.ts'
import { countedMembers } from '../protocol/record.ts'
import {
  departing,
  isFenced,
  isFollowing,
  isLive,
  liveView,
  names,
  viewNamed,
  viewOf,
  type LiveView,
  type Situation,
} from '../judge/situation.ts'
import type { Mode } from './mode.ts'
import { hasDoubtedData } from '../judge/data/doubted-data.ts'

/** What giving up an instance and its volume would do, or why it is refused. */
export type ReplacePlan =
  | {
      readonly steps: readonly Sentence[]
      /** Nobody answers there: its machine may be gone, and nothing can wait for it. */
      readonly isSilent: boolean
      /** What may be lost by it and was accepted; '' for nothing. */
      readonly loss: Said
    }
  | { readonly refusal: Sentence }

/**
 * Gives up a volume for good, so a healthy copy of all that was acknowledged must be elsewhere (safety rule 8): on a
 * primary that is well, and on as many others that count and follow as a write needs. The record needs no order: what
 * comes up on an empty volume is a new member, and the old one leaves because its volume is gone (`sync-set.ts`).
 */
export function planReplace(
  situation: Situation,
  instance: InstanceName,
  acceptLoss: boolean,
  mode: Pick<Mode, 'judge'>,
): ReplacePlan {
  const standing = whyNotNow(situation, mode, instance)
  if (standing !== null) return { refusal: standing }
  const loss = joined(whatCouldBeLost(situation, instance), '; ')
  if (loss !== '' && !acceptLoss) return { refusal: say`${loss}. Only --accept-loss gives ${instance} up` }
  const view = viewNamed(situation.snapshot, instance)
  return { steps: stepsOf(situation, instance, view), isSilent: !isLive(view), loss }
}

/**
 * What no accepted loss changes: while somebody else has to lead, or nobody would be seeded, a volume less can only do
 * harm.
 */
function whyNotNow(situation: Situation, mode: Pick<Mode, 'judge'>, instance: InstanceName): Sentence | null {
  const { record, notes, spec, cluster } = situation
  if (spec.reseed === 'manual')
    return say`reseed is manual, and an empty instance would be left as it is; make it automatic first, or keep the volume: ${command('reseed', instance)}`
  if (notes.paused)
    return say`the cluster is paused (${text(notes.paused.reason)}) and would not seed the new one; ${endOfPause(notes.paused, cluster)} first`
  if (record.intent) return say`a ${record.intent.kind} is under way`
  const verdict = mode.judge(situation)
  const isPrimary = instance === instanceOf(record.primary)
  if (isPrimary && verdict.kind === 'well') return say`${instance} is primary; ${command('switchover')} first`
  if (isPrimary)
    return say`${instance} leads in the record and may hold what others need: ${verdict.sentence}; ${command('failover')} first`
  return verdict.kind === 'well'
    ? null
    : say`the primary is not well, and ${instance} may hold what its successor needs: ${verdict.sentence}`
}

function whatCouldBeLost(situation: Situation, instance: InstanceName): readonly Sentence[] {
  const { record } = situation
  const others = countedMembers(record).filter(
    (member) => instanceOf(member) !== instance && isProvenCopy(situation, member),
  )
  const needed = Math.max(1, record.acks, record.acksWanted)
  const errant = errantOn(situation, instance)
  const holders = names([record.primary, ...others])
  const counting = say`${others.length} ${others.length === 1 ? say`does` : say`do`}`
  return [
    ...(others.length < needed
      ? [
          say`acknowledged writes would be on ${holders} alone: besides ${instance}, ${needed} must follow and count, and ${counting}`,
        ]
      : []),
    ...(others.length >= needed && leavesUnproven(situation, instance)
      ? [
          say`${instance} leaves the sync set, and no marker proves yet that others hold all it acknowledged; ask again then`,
        ]
      : []),
    ...(errant > 0 ? [say`${instance} alone holds ${counted(errant, 'errant transaction')}, and is seeded again`] : []),
  ]
}

/** The replica gets all that the primary has, is there to stay, and has what its GTIDs say. */
function isProvenCopy(situation: Situation, member: MemberId): boolean {
  const view = liveView(situation.snapshot, member)
  if (view === undefined || view.past !== undefined || !holdsFor(situation, member)) return false
  return (
    !isDoubtful(situation, view) && !departing(situation).includes(view.name) && !isFenced(situation.notes, view.name)
  )
}

/** What it has may not be what its GTIDs say. */
function isDoubtful(situation: Situation, view: LiveView): boolean {
  const { stored, seedingProgress } = view.observation
  const isOther = hasDoubtedData(stored) || stored.seeding || seedingProgress !== null
  return isOther || isErrant(situation, view) || hasHole(situation, view)
}

/** The replica gets all that the primary has, and forgot nothing. */
function holdsFor(situation: Situation, member: MemberId): boolean {
  const view = viewOf(situation.snapshot, member)
  return isFollowing(view, situation) && !view.observation.stored.forgetful
}

/**
 * A following member leaves in order before it ends (`agents/orders/termination.ts`). A member that does not follow has
 * yet to leave. In a group the primary has on its disk whatever was acknowledged, and no marker is ever written.
 */
function leavesUnproven(situation: Situation, instance: InstanceName): boolean {
  const { group, syncSet } = situation.record
  return (
    group === undefined && syncSet.some((member) => instanceOf(member) === instance && !holdsFor(situation, member))
  )
}

/**
 * The instance answers. What a silent instance wrote last was acknowledged to nobody, or is held by those who revoked
 * that instance.
 */
function errantOn({ snapshot, record }: Situation, instance: InstanceName): number {
  const view = viewNamed(snapshot, instance)
  const primary = liveView(snapshot, record.primary)
  return isLive(view) && primary ? errantOf(view.observation, primary.observation).count() : 0
}

function stepsOf({ record }: Situation, instance: InstanceName, view: InstanceView | undefined): readonly Sentence[] {
  const primary = instanceOf(record.primary)
  return [
    say`the volume of ${instance} is given up, and all that is on it`,
    isLive(view)
      ? say`${instance} is told to end: it leaves the sync set where it counts, and its server stops`
      : say`nobody answers there, so nothing waits for the machine it was on`,
    say`${instance} is made anew, wherever there is room, with an empty volume`,
    say`what comes up there is another member: the old one leaves the record, the new one is seeded, follows ${primary} and counts once it has caught up`,
  ]
}
