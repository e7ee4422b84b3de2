import { counted, duration, say, type Said, type Sentence } from '#common/sentence/sentence.ts'
import type { Analysis } from '#topology/analysis/analysis.ts'
import { ranked } from '#topology/analysis/analyse.ts'
import type { ReplicationTree } from '#topology/snapshot/replication-tree.ts'
import type { Death } from '#manager/clusters/watched.ts'
import type { Adoption } from '../adoption.ts'
import { elect } from './candidate.ts'
import { treeOf } from './links.ts'
import { answers, type Look } from './look.ts'
import { findPrimary, primaryState, receivesFrom, takesWrites, type PrimaryState } from './primary.ts'
import { problemsBeside, problemsOfPrimary } from './problems.ts'

/** What is so, and what Regent would do if the cluster were managed. Nothing is done. */
export interface Judgement {
  readonly primary: string | null
  readonly kind: PrimaryState['kind']
  /** Null while that is not known. */
  readonly writable: boolean | null
  readonly sentence: Sentence
  /** The instance that would be promoted; null for none. */
  readonly would: string | null
  readonly reasons: readonly Sentence[]
  readonly analyses: readonly Analysis[]
  readonly tree: ReplicationTree
  /** What a person may rest upon who lets another server lead. */
  readonly death: Death | null
  readonly doubt: string
}

export interface JudgeInput {
  readonly adoption: Adoption
  /** In the order of the file. */
  readonly looks: readonly Look[]
  /** The primary of the judgement before. */
  readonly before: string | null
  readonly nowMs: number
}

const nothingExpected = { primary: null, epoch: 0, revision: 0, syncSet: [], acks: 0, fenced: [], paused: false }

export function judge({ adoption, looks, before, nowMs }: JudgeInput): Judgement {
  const tree = treeOf(adoption.cluster, looks)
  const state = primaryState(findPrimary(tree, looks, before), looks, nowMs)
  const all = { looks, tree, maxLagSeconds: adoption.maxLagSeconds }
  const analyses = ranked([...problemsOfPrimary(state, all), ...problemsBeside(state, all)], nothingExpected)
  return {
    primary: state.kind === 'none' ? null : state.look.host.instance,
    kind: state.kind,
    writable: writableIn(state),
    ...decided(state, { adoption, looks, nowMs }),
    analyses,
    tree,
    doubt: state.kind === 'alive' || state.kind === 'unreachable' || state.kind === 'unknown' ? String(state.why) : '',
  }
}

function writableIn(state: PrimaryState): boolean | null {
  if (state.kind === 'serving') return takesWrites(state.look)
  return state.kind === 'dead' || state.kind === 'none' ? false : null
}

type Decided = Pick<Judgement, 'sentence' | 'would' | 'reasons' | 'death'>
type Given = Omit<JudgeInput, 'before'>

function decided(state: PrimaryState, given: Given): Decided {
  switch (state.kind) {
    case 'none':
      return nothing(say`only watched: would do nothing, for nobody is the primary`)
    case 'serving':
      return nothing(whileServing(state.look, given.looks))
    case 'alive':
      return nothing(say`only watched: would do nothing, for primary ${state.look.host.instance}: ${state.why}`)
    case 'unreachable':
    case 'unknown':
      return nothing(say`only watched: would wait, for ${state.look.host.instance} may be alive: ${state.why}`)
    case 'dead':
      return afterDeath(state.look, state.why, given)
  }
}

function nothing(sentence: Sentence): Decided {
  return { sentence, would: null, reasons: [], death: null }
}

function whileServing(primary: Look, looks: readonly Look[]): Sentence {
  const followers = looks.filter((look) => receivesFrom(look, primary, looks)).length
  const writes = takesWrites(primary) ? say`takes writes` : say`is read-only`
  const follow = say`${counted(looks.length - 1, 'other server')} ${followers === 1 ? say`follows` : say`follow`}`
  return say`only watched: primary ${primary.host.instance} ${writes}, ${followers} of ${follow} it`
}

function afterDeath(primary: Look, why: Sentence, given: Given): Decided {
  const { choice, lost, passedOver } = elect(primary, given.looks, given.adoption.mode)
  const words = say`${primary.host.instance} is dead: ${why}`
  const death = deathOf(primary, why, lost, given)
  if (choice === undefined)
    return {
      sentence: say`only watched: ${words}; would wait for a person: nobody may lead`,
      would: null,
      reasons: passedOver,
      death,
    }
  const { candidate, mostAdvanced } = choice
  const { instance } = candidate.host
  const first: Said =
    mostAdvanced === candidate ? '' : say`, which first gets what only ${mostAdvanced.host.instance} has`
  const plan = planFor(primary, choice.candidate, lost, given)
  return {
    sentence: plan.waits
      ? say`only watched: ${words}; would wait for a person (best is ${instance}): ${plan.words}`
      : say`only watched: ${words}; would promote ${instance}${first}${plan.words}`,
    would: plan.waits ? null : instance,
    reasons: [...plan.reasons, ...passedOver],
    death,
  }
}

function deathOf(primary: Look, why: Sentence, lost: number | null, given: Given): Death {
  const { adoption, nowMs } = given
  const unseenMs = nowMs - primary.answeredMs
  const isHeld = isAcknowledged(primary, given) && lost === 0
  return {
    words: String(why),
    loss: isHeld ? '' : String(missingWords(primary, lost, unseenMs)),
    isLossAccepted: isHeld || acceptsLoss(adoption, lost, unseenMs),
  }
}

interface Plan {
  readonly waits: boolean
  readonly words: Said
  readonly reasons: readonly Sentence[]
}

/** Whether what only the old primary holds can be had, and what is accepted where not. */
function planFor(primary: Look, candidate: Look, lost: number | null, given: Given): Plan {
  const { adoption, nowMs } = given
  const unseenMs = nowMs - primary.answeredMs
  const reasons = [missingWords(primary, lost, unseenMs)]
  const { instance } = primary.host
  if (!adoption.failover.automatic) return { waits: true, words: say`failover.automatic is false`, reasons }
  if (isAcknowledged(primary, given) && lost === 0)
    return { waits: false, words: say`, which holds all that was acknowledged`, reasons: [] }
  if (primary.host.ssh !== undefined) return { waits: false, words: say` after reading its binlog over SSH`, reasons }
  if (acceptsLoss(adoption, lost, unseenMs))
    return { waits: false, words: say` and lose what only ${instance} holds`, reasons }
  return {
    waits: true,
    words: say`no SSH, and acceptLoss is ${adoption.failover.acceptLoss}`,
    reasons: [
      ...reasons,
      say`${candidate.host.instance}: with ssh, by which the binlog of ${instance} is read, or with failover.acceptLoss it would be promoted`,
    ],
  }
}

function acceptsLoss({ failover }: Adoption, lost: number | null, unseenMs: number): boolean {
  const { acceptLoss, acceptLossUpTo } = failover
  if (acceptLoss === 'always') return true
  if (acceptLoss === 'never' || acceptLossUpTo === undefined || lost === null) return false
  return unseenMs <= acceptLossUpTo.seconds * 1_000 && lost <= acceptLossUpTo.transactions
}

/**
 * A semi-synchronous source whose writes waited for a replica, when it was seen last: after its time-out it waits for
 * nobody. What it wrote since then one replica has, and nobody knows which: all of them must answer.
 */
function isAcknowledged(primary: Look, { adoption: { mode }, looks }: Given): boolean {
  const waited = mode === 'semisync' && primary.server?.semiSyncWaits === true
  return waited && looks.every((look) => look === primary || answers(look))
}

function missingWords(primary: Look, lost: number | null, unseenMs: number): Sentence {
  const { instance } = primary.host
  if (primary.server === null) return say`what ${instance} held is not known: it was never seen`
  const ago = duration(Math.round(unseenMs / 100) * 100)
  if (lost === null) return say`what only ${instance} holds is not known without GTIDs; it was seen last ${ago} ago`
  return lost === 0
    ? say`all that ${instance} held ${ago} ago is held by others; what it wrote since is not known`
    : say`${counted(lost, 'transaction')} of what ${instance} held ${ago} ago: nobody else has that; what it wrote since is not known`
}
