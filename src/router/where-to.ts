import { counted, joined, say, type Said, type Sentence } from '#common/sentence/sentence.ts'
import { lagMsOf } from '#topology/snapshot/replicating.ts'
import type { AgentWord } from './agent-word.ts'
import type { RouterSettings } from '#failover/protocol/router-settings.ts'

export interface KnownInstance {
  readonly name: string
  readonly host: string
  readonly port: number
  /** Null while the instance's agent is not heard. */
  readonly word: AgentWord | null
  /** Why the agent is not heard, where that is known. */
  readonly whyUnheard?: Said
  /** Nobody has answered at the instance's address for so long that the machine is down, or out of reach. */
  readonly isGone: boolean
}

/** The primary, as the record or the agents name it. */
export interface NamedPrimary {
  readonly epoch: number
  readonly primary: string
}

export interface Known {
  readonly instances: readonly KnownInstance[]
  /** The record as the manager shows it. Null where no manager answers, or there is no primary yet. */
  readonly record: NamedPrimary | null
  /**
   * The highest epoch by which sessions were led, or a primary was named, also before this router began; 0 for none.
   */
  readonly highest: number
  /** Instances that were not late when a primary was known last; undefined where none was known yet. */
  readonly lastReaders?: ReadonlySet<string> | undefined
}

/** `open` takes new sessions. `kept` keeps the sessions that are there. `shut` has none. */
export type ReadState = 'open' | 'kept' | 'shut'

interface ReadTarget {
  readonly name: string
  readonly state: ReadState
  /** The weight, of 100. */
  readonly weight: number
}

export interface WhereTo {
  /** The instance for new writing sessions; null while they wait. */
  readonly write: KnownInstance | null
  /** The name of the instance whose open sessions may stay; '' for none. Null lets all open sessions stay. */
  readonly keepSessionsOf: string | null
  readonly reads: readonly ReadTarget[]
  readonly sentence: Sentence
  /** The epoch that names the primary. 0 where there is no primary, or where a group names it. */
  readonly epoch: number
}

/**
 * Where sessions go. The router follows the record that the manager shows. A higher epoch that a majority of the agents
 * confirms is newer. Whoever names an instance, its own agent must say that the instance is open. No epoch below a
 * known epoch is followed: a manager with an old record and an old primary may be all that can be reached.
 */
export function whereTo(known: Known, { reads }: Pick<RouterSettings, 'reads'>): WhereTo {
  const { instances, record } = known
  const named = newer(groupPrimary(instances) ?? confirmedPrimary(instances), record)
  const write = whereToWrite(known, named)
  const epoch = named === null || named.epoch === electedByGroup ? 0 : named.epoch
  return { ...write, epoch, reads: whereToRead(known, write.write, reads) }
}

/** All agents are heard, and none promised that epoch. So the epoch does not belong to these volumes. */
export function isOfOthers(epoch: number, instances: readonly Pick<KnownInstance, 'word'>[]): boolean {
  return instances.length > 0 && instances.every(({ word }) => word !== null && word.promise < epoch)
}

type WhereToWrite = Omit<WhereTo, 'reads' | 'epoch'>

function whereToWrite({ instances, record, highest }: Known, named: NamedPrimary | null): WhereToWrite {
  if (named === null) return wait(null, say`sessions wait: ${unheard(instances)}`)
  const by = named === record ? 'the manager' : counted(agentsNeeded(instances), 'agent')
  const primary = say`${named.primary} is the primary ${inEpoch(named)}by ${by}`
  if (named.epoch < highest)
    return wait(null, say`sessions wait: ${primary}, and this router knows of epoch ${highest} already`)
  const instance = instances.find(({ name }) => name === named.primary)
  if (instance === undefined) return wait('', say`sessions wait: ${primary}, and is not there any more`)
  const doubt = doubtAbout(instance, named)
  if (doubt === null) return { write: instance, keepSessionsOf: instance.name, sentence: say`writes go on: ${primary}` }
  return wait(doubt.isSure ? '' : instance.name, say`sessions wait: ${primary}, and ${doubt.sentence}`)
}

/** The record wins where the epochs are the same: the record is the truth. */
function newer(byAgents: NamedPrimary | null, record: NamedPrimary | null): NamedPrimary | null {
  if (byAgents === null || record === null) return byAgents ?? record
  return byAgents.epoch > record.epoch ? byAgents : record
}

function unheard(instances: readonly KnownInstance[]): Sentence {
  const heard = instances.filter(({ word }) => word !== null).length
  const reasons = instances.flatMap(({ name, whyUnheard = '' }) =>
    whyUnheard === '' ? [] : say`${name}: ${whyUnheard}`,
  )
  const counts = say`no manager answers, and of ${counted(instances.length, 'agent')} ${heard} are heard`
  return say`${joined([say`${counts}: no majority confirms a primary`, ...reasons], '; ')}`
}

function inEpoch({ epoch }: NamedPrimary): Said {
  return epoch === electedByGroup ? '' : say`of epoch ${epoch} `
}

function wait(keepSessionsOf: string | null, sentence: Sentence): WhereToWrite {
  return { write: null, keepSessionsOf, sentence }
}

function agentsNeeded(instances: readonly unknown[]): number {
  return Math.floor(instances.length / 2) + 1
}

/**
 * The agent that was told to be the primary of the highest epoch, where a majority of the agents promised that epoch
 * and no newer one. An order to be primary follows the record, and each epoch has one primary.
 */
function confirmedPrimary(instances: readonly KnownInstance[]): NamedPrimary | null {
  const [claim] = instances
    .flatMap(({ name, word }) => (word?.role === 'primary' ? [{ epoch: word.epoch, primary: name }] : []))
    .toSorted((a, b) => b.epoch - a.epoch)
  if (claim === undefined) return null
  const confirming = instances.filter(({ word }) => word?.promise === claim.epoch)
  return confirming.length >= agentsNeeded(instances) ? claim : null
}

/** The member that a majority of the members has as PRIMARY in its view: a group elects by itself. */
function groupPrimary(instances: readonly KnownInstance[]): NamedPrimary | null {
  for (const { name, word } of instances) {
    if (word?.group == null) continue
    const { uuid } = word.group
    const agreeing = instances.filter((other) => other.word?.group?.primary === uuid)
    if (agreeing.length >= agentsNeeded(instances)) return { epoch: Number.MAX_SAFE_INTEGER, primary: name }
  }
  return null
}

/** An epoch newer than any that a manager can know. */
const electedByGroup = Number.MAX_SAFE_INTEGER

interface Doubt {
  readonly sentence: Sentence
  /** True where the agent itself says no. Otherwise nobody knows, and open sessions may go on. */
  readonly isSure: boolean
}

/** The reason not to lead a session to the named primary; null for none. */
function doubtAbout(
  { word, whyUnheard = '' }: Pick<KnownInstance, 'word' | 'whyUnheard'>,
  named: NamedPrimary,
): Doubt | null {
  if (word === null) return { sentence: say`${joined([say`its agent is not heard`, whyUnheard], ': ')}`, isSure: false }
  if (word.server === 'gone') return { sentence: say`its server does not run`, isSure: true }
  const unconfirmed = named.epoch === electedByGroup ? null : whyUnconfirmed(word, named.epoch)
  if (unconfirmed !== null) return { sentence: unconfirmed, isSure: true }
  if (word.server === 'unsure') return { sentence: say`its server does not answer`, isSure: false }
  return isClosed(word) ? { sentence: say`its server takes no writes`, isSure: true } : null
}

function whyUnconfirmed({ role, epoch, promise }: AgentWord, named: number): Sentence | null {
  if (role !== 'primary' || epoch !== named) return say`its agent does not confirm that`
  return promise > named ? say`its agent promised epoch ${promise}` : null
}

function isClosed({ closed, readOnly, offline }: AgentWord): boolean {
  return closed || readOnly || offline
}

function whereToRead(
  { instances, lastReaders }: Known,
  primary: KnownInstance | null,
  { maxLagMs, fallback }: RouterSettings['reads'],
): readonly ReadTarget[] {
  const replicas = instances.map((instance): ReadTarget => {
    const target = readTarget(instance, primary, maxLagMs)
    const wasLate = primary === null && lastReaders?.has(instance.name) === false
    return wasLate && target.state === 'open' ? { ...target, state: 'kept' } : target
  })
  const isLeft = replicas.some(({ state }) => state === 'open')
  return replicas.map((target) =>
    target.name !== primary?.name ? target : { ...target, state: fallback === 'primary' && !isLeft ? 'open' : 'kept' },
  )
}

const weight = 100

function readTarget(instance: KnownInstance, primary: KnownInstance | null, maxLagMs: number): ReadTarget {
  const { name, word } = instance
  // An agent may be gone alone, and its server well. Sessions at a machine that is gone would hang for hours.
  if (word === null) return { name, state: instance.isGone ? 'shut' : 'kept', weight }
  if (name === primary?.name) return { name, state: 'kept', weight }
  if (isShut(word)) return { name, state: 'shut', weight }
  const lagMs = lagOf(word, primary)
  return { name, state: lagMs > maxLagMs ? 'kept' : 'open', weight: lagMs > maxLagMs / 2 ? weight / 2 : weight }
}

/**
 * The lag of a replica; infinite for an instance that does not follow. Without a primary nobody follows. The primary
 * may only be unheard, so a replica counts that was not late before, and has applied all that has arrived.
 */
function lagOf(word: AgentWord, primary: KnownInstance | null): number {
  if (word.role !== 'replica' || word.server === 'unsure') return Infinity
  if (primary === null) return word.isWhole ? word.applyLagMs : Infinity
  return word.follows ? lagMsOf(word, primary.word?.heartbeat) : Infinity
}

function isShut({ server, closed, seeding, offline, role }: AgentWord): boolean {
  return server === 'gone' || closed || seeding || offline || role === null
}
