import { say, type Said } from '#common/sentence/sentence.ts'
import type { Watch } from '#common/watch/watch.ts'
import { orderVersion, type Endpoint } from '#failover/protocol/message.ts'
import { sayWord } from '#failover/protocol/word.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'
import {
  archiveOfBackups,
  dueBinlogs,
  isShortOfSpace,
  keepingEveryMs,
  membersLacking,
  sentenceAboutForced,
  sentenceAboutHeld,
  type DueBinlog,
  type MemberHoldings,
} from './binlog-keeping.ts'
import type { Parts } from '../instance/parts.ts'

/** How often it is looked whether space is short. */
export const binlogLookMs = 2_000

/**
 * Purges this server's binlogs in mysqld's stead, which knows nothing of who still needs them (docs/why/safety.md,
 * "Nothing is destroyed on a guess"): also a replica's, for it may be the source a member comes back to. What the
 * others hold, they are asked; one that does not answer holds what it held when it last did.
 */
export class BinlogKeeper implements Watch {
  readonly name = 'binlogs to be purged'
  readonly failure = { code: 'BinlogsNotPurged', sentence: say`binlogs could not be purged` }
  readonly #parts: Parts
  readonly #executed = new Map<InstanceName, GtidText>()
  /** What the archive of backups held when the primary last said so; null before that. */
  #archived: GtidText | null = null
  /** What was executed before each file began: reading that is dear, and it never changes. */
  readonly #before = new Map<string, GtidText>()
  #roundAtMs = Number.NEGATIVE_INFINITY
  /** What was said last about files that are held. */
  #holding = ''

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async look(): Promise<void> {
    const { world, observer } = this.#parts
    if (this.#isRound()) {
      this.#roundAtMs = world.clock.monotonicMs()
      await this.#askPeers()
    }
    if (observer.server !== null) await this.#purgeDue(observer.server.purged)
  }

  isDue(): boolean {
    return this.#isRound() || isShortOfSpace(this.#parts.observer.freeBytes, this.#parts.config)
  }

  #isRound(): boolean {
    const { world, config } = this.#parts
    return world.clock.monotonicMs() - this.#roundAtMs >= keepingEveryMs(config)
  }

  /** The server answers and is not being seeded, and its agent was told what it is. */
  while(): boolean {
    const { observer, process, file } = this.#parts
    const { assignment, seeding } = file.current
    return process.state === 'running' && observer.server !== null && assignment !== null && !seeding
  }

  /** The question is a lease's, which agents of every version answer. */
  async #askPeers(): Promise<void> {
    const { file, transport, config, timings } = this.#parts
    const request = {
      version: orderVersion,
      cluster: config.cluster,
      asking: config.instance,
      epoch: file.current.assignment?.epoch ?? 0,
    }
    await Promise.allSettled(
      this.#peers().map(async ({ instance, agent }) => {
        const vote = await sayWord({ transport, deadlineMs: timings.leaseRenewMs }, agent, 'leaseVote', request)
        if (typeof vote.executed === 'string') this.#executed.set(instance, vote.executed)
        if (typeof vote.archived === 'string') this.#archived = vote.archived
      }),
    )
  }

  async #purgeDue(purged: GtidText): Promise<void> {
    const { volume, observer, world, config, notices } = this.#parts
    const due = dueBinlogs(
      await volume.listBinlogs(),
      { wallMs: world.clock.wallMs(), freeBytes: observer.freeBytes },
      config,
    )
    this.#forgetAllBut(due)
    const members = [...this.#members(), ...this.#archive()]
    const forced: DueBinlog[] = []
    let robbed: readonly MemberHoldings[] = []
    let holding: Said = ''
    for (const file of due) {
      const lacking = membersLacking(await this.#upToEndOf(file), purged, members)
      if (lacking.length > 0 && file.force === null) {
        holding = sentenceAboutHeld(file, lacking)
        break
      }
      // Files are removed one at a time: while files are removed, no binlog can be rotated.
      if (!(await this.#purge(file))) break
      // A member that lacks something of a file lacks something up to the end of the next file too.
      if (lacking.length > 0) robbed = lacking
      if (lacking.length > 0) forced.push(file)
    }
    if (forced.length > 0) notices.add('BinlogsPurged', sentenceAboutForced(forced, robbed, config))
    if (holding !== '' && String(holding) !== this.#holding) notices.add('BinlogsHeld', holding)
    this.#holding = String(holding)
  }

  /** False where it is still there: mysqld removes no file that a replica reads at this moment. */
  async #purge({ name, next }: DueBinlog): Promise<boolean> {
    const { server, volume } = this.#parts
    await server.purgeBinlogsBefore(next)
    return !(await volume.listBinlogs()).some((file) => file.name === name)
  }

  /** All that had been executed when this file ended. */
  async #upToEndOf({ next }: DueBinlog): Promise<GtidText> {
    const { volume, observer } = this.#parts
    const known = this.#before.get(this.#keyOf(next))
    if (known !== undefined) return known
    const before = await volume.previousGtids(next)
    // A file that cannot be read, as it is encrypted for example, counts as if everything were in it.
    if (before === null) return observer.server?.executed ?? ''
    this.#before.set(this.#keyOf(next), before)
    return before
  }

  #forgetAllBut(due: readonly DueBinlog[]): void {
    const wanted = new Set(due.map(({ next }) => this.#keyOf(next)))
    for (const key of this.#before.keys()) if (!wanted.has(key)) this.#before.delete(key)
  }

  /** A server that was seeded again begins with the same names. */
  #keyOf(name: string): string {
    return `${this.#parts.process.pid}/${name}`
  }

  #members(): readonly MemberHoldings[] {
    return this.#peers().map(({ instance }) => ({ instance, executed: this.#executed.get(instance) ?? null }))
  }

  /** Any instance may have to ship what the primary did not. */
  #archive(): readonly MemberHoldings[] {
    const { told, jobs, file } = this.#parts
    if ((told.backups?.archive.everySeconds ?? 0) === 0) return []
    const leads = file.current.assignment?.role === 'primary'
    return [{ instance: archiveOfBackups, executed: leads ? (jobs.binlogArchive?.gtids ?? null) : this.#archived }]
  }

  #peers(): readonly Endpoint[] {
    const { file, config } = this.#parts
    return (file.current.assignment?.peers ?? []).filter(({ instance }) => instance !== config.instance)
  }
}
