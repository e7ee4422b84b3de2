import { backupName } from '#backup/objects/backup-name.ts'
import { keyOf } from '#backup/objects/object-key.ts'
import { withHole, type Plan } from '#backup/restore/restore-plan.ts'
import { releaseOf } from '#backup/restore/server-fit.ts'
import { whyNoRoom } from '#backup/restore/space.ts'
import { planOf } from '#backup/transfer/plan-from-store.ts'
import { signedPart, type SignedPart } from '#backup/transfer/signed-part-of-plan.ts'
import { verificationText } from '#backup/objects/verification.ts'
import { describeError, RegentError } from '#common/errors/errors.ts'
import { counted, duration, say, type Sentence } from '#common/sentence/sentence.ts'
import { backupFolderOf } from '#failover/protocol/backup-store.ts'
import type { Word } from '#failover/protocol/word.ts'
import { describeRehearsal, type RehearsalSeen } from '#topology/snapshot/copies.ts'
import { learn } from '#agents/instance/learn.ts'
import type { Parts } from '#agents/instance/parts.ts'
import type { BackupPort, OpenedStore } from '#agents/ports/backup-port.ts'
import { requireAccess } from '../access.ts'
import { compareWithReplica, type Compared } from './beside-replica.ts'
import { checkTables, type CheckedTables } from './checked-tables.ts'
import { claimFolder } from '../owner.ts'
import type { Reached } from '../rebuild/reached.ts'
import { fetchBase } from '../rebuild/fetch-base.ts'
import { bringUp, type RebuildTools } from '../rebuild/rebuild.ts'

type RehearseWord = Word<'rehearse'>
type Named = Pick<RehearseWord, 'name'>

const lookMs = 1_000
const longestWhyNot = 1_000
const endedWithAgent = 'the agent ended while the backup was restored: memory ran out, or the agent was stopped'

interface Rehearsed extends CheckedTables, Compared {
  readonly reached: Reached
  readonly restoreMs: number
}

interface Outcome {
  readonly plan: Plan
  readonly rehearsed: Rehearsed
}

/**
 * Rehearses restores beside the instance's own server, one at a time. The newest backup and its binlogs go into a
 * folder and a server of their own. Every table is checked, and then folder and server are removed. A rehearsal takes
 * the processor and disk that others leave, and ends before the volume gets narrow.
 */
export class Rehearsing {
  readonly #parts: Parts
  readonly #port: BackupPort | null
  readonly #stop = new AbortController()

  constructor(parts: Parts, port: BackupPort | null) {
    this.#parts = parts
    this.#port = port
  }

  /** Begins a rehearsal; the observation shows the course. Throws `REGENT_BUSY` and `REGENT_REFUSED`. */
  begin(said: RehearseWord): void {
    const { jobs, config, copying } = this.#parts
    const present = jobs.rehearsal
    if (present?.name === said.name) return
    if (present?.stage === 'restores' || present?.stage === 'checks')
      throw new RegentError('REGENT_BUSY', say`${config.instance} has rehearsal ${present.name} under way`)
    if (copying.progress !== null)
      throw new RegentError('REGENT_BUSY', say`${config.instance} is being made a copy itself: rehearse elsewhere`)
    const port = requireAccess(this.#port, config.instance)
    this.#tell(said, 'restores', 'looking for the newest backup')
    // The run names the cluster as the store has it.
    void this.#run({ ...said, cluster: backupFolderOf(said) }, port).then(
      (outcome) => this.#ended(said, outcome),
      (error: unknown) => this.#failed(said, error),
    )
  }

  stop(): void {
    this.#stop.abort(new Error('the agent is stopping'))
  }

  /**
   * Removes the rest of a rehearsal whose agent died: its server goes on without an agent. Such a rehearsal failed as
   * any other does. Each later agent tells of that failure: the manager would begin the next rehearsal at once.
   */
  async removeLeftovers(): Promise<void> {
    const { volume, file, world } = this.#parts
    const last = file.current.rehearsal
    const isLeft = await volume.hasRehearsalFolder()
    await this.#removeLeftover(isLeft)
    const ended = last === undefined ? isLeft : last.failure === ''
    // An agent of an older version noted no name.
    const name = last?.name ?? backupName(world.clock.wallMs())
    if (ended) await this.#failed({ name }, new Error(endedWithAgent))
    else if (last !== undefined) this.#tell(last, 'failed', last.failure)
  }

  async #removeLeftover(isLeft: boolean): Promise<void> {
    const { volume, notices } = this.#parts
    try {
      await this.#port?.throwAway.endLeftover()
      if (isLeft) await volume.dropRehearsalFolder()
    } catch (error) {
      notices.failed('RehearsalFailed', say`a rehearsal of an earlier agent could not be removed`, error)
    }
  }

  /** Nothing of a rehearsal is left when its end is told. */
  async #run(said: RehearseWord, { open, throwAway, lineage }: BackupPort): Promise<Outcome> {
    const { volume, world, file } = this.#parts
    // The next steps may end the agent: memory runs out where a schema is large.
    await file.update({ rehearsal: { name: said.name, failure: '' } })
    const opened = await open(said.store)
    const watch = this.#watch()
    try {
      await claimFolder(this.#parts, opened.store, { where: said.store, cluster: said.cluster, lineage })
      const release = releaseOf(this.#parts.observer.server?.version ?? '')
      const signed = await signedPart(await planOf({ of: said.cluster }, opened, release), opened, watch)
      await this.#requireRoom(signed)
      const { plan } = signed
      const rehearsed = await this.#rehearse(said, plan, {
        ...opened,
        ...{ throwAway, volume, world, half: null, own: true, spares: true, signal: watch.signal },
        progress: (stage) => this.#tell(said, 'restores', String(stage)),
      })
      await this.#verified(plan, rehearsed, opened)
      await file.update({ rehearsal: undefined })
      return { plan, rehearsed }
    } finally {
      watch.end()
      opened.store.close()
      await volume.dropRehearsalFolder()
    }
  }

  async #rehearse(said: RehearseWord, plan: Plan, tools: RebuildTools): Promise<Rehearsed> {
    const { clock } = this.#parts.world
    const beganMs = clock.monotonicMs()
    const folder = await this.#parts.volume.freshRehearsalFolder()
    await fetchBase(plan.backup, folder, tools)
    return bringUp(plan, folder, tools, async (server, reached) => {
      const restoreMs = Math.round(clock.monotonicMs() - beganMs)
      let toldMs = -Infinity
      const tell = (stage: Sentence) => {
        if (clock.monotonicMs() - toldMs < lookMs) return
        toldMs = clock.monotonicMs()
        this.#tell(said, 'checks', String(stage))
      }
      const checked = await checkTables(server, (done, all) => tell(say`${done} of ${all} tables are checked`))
      const beside = { ...tools, progress: tell }
      const compared = await compareWithReplica(this.#parts, { server, plan, folder }, beside)
      return { ...checked, ...compared, reached, restoreMs }
    })
  }

  async #verified(plan: Plan, rehearsed: Rehearsed, { store, key }: OpenedStore): Promise<void> {
    const { reached, restoreMs, tables, rows, compared, whyNot } = rehearsed
    const { cluster, lineage, name, endedAtMs } = plan.backup
    const verification = {
      formatVersion: 1,
      verifiedAtMs: this.#parts.world.clock.wallMs(),
      restoreMs,
      gtids: reached.gtids.toString(),
      reachedMs: reached.lastMs ?? endedAtMs,
      ...{ tables: tables.length, rows, compared },
      ...(whyNot === ''
        ? { replica: this.#parts.config.instance }
        : { notCompared: String(whyNot).slice(0, longestWhyNot) }),
    } as const
    const text = verificationText(verification, { cluster, lineage, name, key })
    await store.put(keyOf({ kind: 'verified', cluster, name }), once(Buffer.from(text)))
  }

  #ended(said: RehearseWord, { plan, rehearsed }: Outcome): void {
    const what = withHole(describeRehearsed(plan, rehearsed, this.#parts.config.instance), plan)
    this.#tell(said, 'done', String(what))
    this.#parts.notices.add('BackupVerified', what)
  }

  async #requireRoom({ plan: { backup }, replay }: SignedPart): Promise<void> {
    const { observer, config } = this.#parts
    // The instance's own server closes at half of these free bytes, and opens again at all of them.
    const asked = { backup, replay, besidesBytes: 2 * config.lowSpaceBytes, freeBytes: await observer.freeBytesNow() }
    const why = whyNoRoom(asked, say`once more on the volume of ${config.instance}`)
    if (why !== '') throw new RegentError('REGENT_REFUSED', why)
  }

  /** Ends a rehearsal where somebody else needs the volume or the instance more. */
  #watch(): { readonly signal: AbortSignal; readonly end: () => void } {
    const { observer, config, file, world } = this.#parts
    const own = new AbortController()
    const role = file.current.assignment?.role
    const look = (): void => {
      const { freeBytes } = observer
      if (freeBytes !== null && freeBytes < 2 * config.lowSpaceBytes)
        own.abort(new Error(`the volume got narrow: ${Math.round(freeBytes / 1_048_576)} MiB are free`))
      if (file.current.assignment?.role !== role)
        own.abort(new Error(`${config.instance} has got another role meanwhile`))
    }
    const timer = world.timers.every(lookMs, look)
    return { signal: AbortSignal.any([this.#stop.signal, own.signal]), end: () => timer.cancel() }
  }

  #tell({ name }: Named, stage: RehearsalSeen['stage'], sentence: string): void {
    const rehearsal = { name, stage, sentence }
    learn(this.#parts, { fact: 'rehearsalWent', rehearsal })
    this.#parts.runs.add({ kind: 'rehearsal', name, stage, sentence: String(describeRehearsal(rehearsal)) })
    this.#parts.changed()
  }

  async #failed({ name }: Named, error: unknown): Promise<void> {
    const { file, notices } = this.#parts
    const failure = describeError(error).slice(0, 1_000)
    learn(this.#parts, { fact: 'backupWorkFailed', work: 'rehearsal' })
    try {
      await file.update({ rehearsal: { name, failure } })
    } catch (unwritten) {
      notices.failed('RehearsalFailed', say`the end of rehearsal ${name} could not be noted`, unwritten)
    }
    this.#tell({ name }, 'failed', failure)
    notices.failed('RehearsalFailed', say`rehearsal ${name} failed`, error)
  }
}

function describeRehearsed(
  { backup }: Plan,
  { tables, rows, restoreMs, compared, whyNot }: Rehearsed,
  instance: string,
): Sentence {
  const whole = say`backup ${backup.name} is verified: restored in ${duration(restoreMs)}, ${counted(tables.length, 'table')} with ${counted(rows, 'row')} are whole`
  return whyNot === ''
    ? say`${whole}, ${counted(compared, 'table')} as replica ${instance} has them`
    : say`${whole}, not compared: ${whyNot}`
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer, void, void> {
  yield bytes
}
