import { longestNoteBytes } from '#common/events/event-writing.ts'
import type { EventRecorder } from '#controller-runtime/events/event-recorder.ts'
import { defaultLimits, type CorrelatorLimits, type Happening } from '#controller-runtime/events/event-correlator.ts'
import type { InformerPort } from '#controller-runtime/informers/informer-port.ts'
import { keyText, type ObjectKey } from '#controller-runtime/objects/objects.ts'
import type { MySQLCluster } from '#kube/spec/mysql-cluster.ts'
import { describeBackup, type BackupSeen } from '#topology/snapshot/copies.ts'
import type { Analyses, Decision } from '#failover/protocol/decision.ts'
import type { HookRun, Recovery } from '#failover/protocol/notes.ts'

export interface ClusterEventsParts {
  readonly recorder: Pick<EventRecorder, 'record'>
  readonly clusters: InformerPort<MySQLCluster>
  readonly leads: () => boolean
  /** Each step of a recovery, while it goes on: too much for Events. */
  readonly debug: (line: string) => void
}

/** The word for a recovery in the reason of an Event: `FailoverBegan`. */
const words: Readonly<Record<Recovery['kind'], string>> = {
  bootstrap: 'Bootstrap',
  failover: 'Failover',
  switchover: 'Switchover',
  restart: 'Restart',
  repair: 'Repair',
}
const ends: Readonly<Record<Recovery['outcome'], string>> = {
  running: 'Began',
  succeeded: 'Succeeded',
  undone: 'Undone',
  abandoned: 'Abandoned',
}

interface Decided extends Pick<Decision, 'blocked' | 'sentence' | 'news'> {
  readonly analyses?: Analyses
}

/**
 * An autoscaler that is refused asks again every 15 s, and a cluster that flaps has two Events each time: neither keeps
 * the next recovery from being told. And each recovery has a story of its own: the eleventh in a row, too.
 */
export const eventLimits: CorrelatorLimits = { ...defaultLimits, similar: 100, burst: 100, refillMs: 10_000 }

/**
 * Tells `kubectl describe` what became of a cluster: of each recovery one Event as it begins, and one with the whole
 * story as it ended; what was refused; and why something stands still, once for each reason.
 */
export class ClusterEvents {
  readonly #parts: ClusterEventsParts
  /** By cluster and what is told: the last of it. */
  readonly #told = new Map<string, string>()
  /** By cluster: how many steps of its last recovery are told. */
  readonly #steps = new Map<string, { readonly id: string; readonly told: number }>()

  constructor(parts: ClusterEventsParts) {
    this.#parts = parts
  }

  /** @param recovery the one that is under way */
  decided(key: ObjectKey, { blocked, sentence, news, analyses = [] }: Decided, recovery: Recovery | null): void {
    if (recovery !== null && this.#isNews(key, 'recovery', recovery.id))
      this.#recovery(key, recovery, recovery.sentence)
    if (recovery !== null) this.#logSteps(key, recovery)
    if (this.#isNews(key, 'blocked', blocked ? news : '') && blocked)
      this.#tell(key, { type: 'Warning', reason: 'Blocked', action: 'Wait', note: sentence })
    const refused = analyses
      .filter(({ code }) => code === 'SettingsRefused')
      .map((analysis) => analysis.sentence)
      .join('; ')
    if (this.#isNews(key, 'settings', refused) && refused !== '')
      this.#tell(key, { type: 'Warning', reason: 'SettingsRefused', action: 'Start', note: refused })
  }

  ended(key: ObjectKey, recovery: Recovery): void {
    this.#logSteps(key, recovery)
    this.#recovery(key, recovery, storyOf(recovery))
  }

  /** What became of a hook. */
  hookEnded(key: ObjectKey, { hook, moment, state, said }: HookRun, { kind }: Recovery): void {
    const isGood = state === 'succeeded'
    const note = `hook ${hook} of ${moment} ${state}: ${said} (${kind})`
    this.#tell(key, {
      type: isGood ? 'Normal' : 'Warning',
      reason: isGood ? 'HookRan' : 'HookFailed',
      action: 'RunHook',
      note,
    })
  }

  /** The spec cannot be followed, and why; '' where it can. */
  refused(key: ObjectKey, trouble: string): void {
    if (this.#isNews(key, 'refused', trouble) && trouble !== '')
      this.#tell(key, { type: 'Warning', reason: 'SpecNotFollowed', action: 'Apply', note: trouble })
  }

  /** What somebody asked for through the API is refused. */
  declined(key: ObjectKey, sentence: string): void {
    this.#record(key, { type: 'Warning', reason: 'RequestRefused', action: 'Refuse', note: sentence })
  }

  /** What somebody else had changed is as it was again. */
  putRight(key: ObjectKey, sentence: string): void {
    this.#tell(key, { type: 'Warning', reason: 'PutRight', action: 'PutRight', note: sentence })
  }

  /** What became of the runs that agents speak of: of those alone whose end is seen here. */
  backups(key: ObjectKey, instances: readonly { readonly name: string; readonly backup?: BackupSeen }[]): void {
    for (const { name, backup } of instances) {
      if (backup === undefined) continue
      const what = `backup ${name}`
      const isKnown = this.#told.has(`${keyText(key)} ${what}`)
      if (!this.#isNews(key, what, `${backup.name} ${backup.stage}`) || !isKnown) continue
      const note = String(describeBackup(backup))
      if (backup.stage === 'done') this.#tell(key, { type: 'Normal', reason: 'BackupMade', action: 'BackUp', note })
      if (backup.stage === 'failed')
        this.#tell(key, { type: 'Warning', reason: 'BackupFailed', action: 'BackUp', note })
    }
  }

  /** How far a rotation of passwords is; what it waits for is told once. */
  passwords(key: ObjectKey, what: 'Began' | 'Waits' | 'Changed' | 'Ended', note: string): void {
    if (this.#isNews(key, 'passwords', `${what} ${note}`))
      this.#tell(key, { type: 'Normal', reason: `PasswordRotation${what}`, action: 'RotatePasswords', note })
  }

  forget(key: ObjectKey): void {
    const ofCluster = `${keyText(key)} `
    for (const told of this.#told.keys()) if (told.startsWith(ofCluster)) this.#told.delete(told)
    this.#steps.delete(keyText(key))
  }

  #logSteps(key: ObjectKey, { id, kind, outcome, timeline }: Recovery): void {
    const before = this.#steps.get(keyText(key))
    const told = before?.id === id ? before.told : 0
    this.#steps.set(keyText(key), { id, told: timeline.length })
    for (const { atMs, what } of stepsOf({ outcome, timeline }).slice(told))
      this.#parts.debug(`${keyText(key)}: ${kind} at ${Math.round(atMs)} ms: ${what}`)
  }

  #recovery(key: ObjectKey, { kind, outcome }: Recovery, note: string): void {
    const isGood = outcome === 'succeeded' || (outcome === 'running' && kind !== 'failover')
    this.#tell(key, {
      type: isGood ? 'Normal' : 'Warning',
      reason: `${words[kind]}${ends[outcome]}`,
      action: words[kind],
      note,
    })
  }

  #isNews(key: ObjectKey, what: string, now: string): boolean {
    const at = `${keyText(key)} ${what}`
    const before = this.#told.get(at) ?? ''
    this.#told.set(at, now)
    return before !== now
  }

  #tell(key: ObjectKey, happening: Omit<Happening, 'regarding'>): void {
    if (this.#parts.leads()) this.#record(key, happening)
  }

  #record(key: ObjectKey, happening: Omit<Happening, 'regarding'>): void {
    const { recorder, clusters } = this.#parts
    const regarding = clusters.get(key)
    if (regarding !== undefined) recorder.record({ regarding, ...happening })
  }
}

/** The timeline of a recovery that has ended ends with that. */
function stepsOf({ outcome, timeline }: Pick<Recovery, 'outcome' | 'timeline'>): Recovery['timeline'] {
  return outcome === 'running' ? timeline : timeline.slice(0, -1)
}

/** How a recovery ended, and its steps between: the first tells how it began and the last how it ended. */
function storyOf(recovery: Recovery): string {
  const end = `after ${Math.round(recovery.timeline.at(-1)?.atMs ?? 0)} ms: ${recovery.sentence}`
  const steps = stepsOf(recovery)
    .slice(1)
    .map(({ atMs, what }) => `at ${Math.round(atMs)} ms ${what}`)
  const told = (left: number): string => {
    const keep = steps.length - left
    const first = Math.ceil(keep / 2)
    const gap = left === 0 ? [] : [`… ${left} step${left === 1 ? '' : 's'} …`]
    const words = [...steps.slice(0, first), ...gap, ...steps.slice(steps.length - (keep - first))].join('; ')
    return words === '' ? end : `${end}. ${words.charAt(0).toUpperCase()}${words.slice(1)}`
  }
  for (let left = 0; left <= steps.length; left += 1)
    if (Buffer.byteLength(told(left)) <= longestNoteBytes) return told(left)
  return end
}
