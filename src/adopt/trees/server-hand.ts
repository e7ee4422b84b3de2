import { described, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Clock, Timers } from '#common/ports/ports.ts'
import { counted } from '#common/text/words.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { PlaceThen, SourceThen, Step } from '#orchestrator/trees/step.ts'
import { readPassword, type AdoptedHost } from '../adoption.ts'
import { addressText } from '../host-address.ts'
import { readFacts, readServer } from '../servers/read-server.ts'
import type { BinlogPosition, SeenChannel, SeenServer, ServerFacts } from '../servers/seen.ts'
import { ServerSession } from '../servers/session.ts'
import { comparePositions } from '../watch/holdings.ts'
import { loginOf } from '../watch/login.ts'
import { whyRead } from './readers.ts'
import { lackedRights } from './rights.ts'
import * as statements from './statements.ts'

const readDeadlineMs = 2_000
/** A server that stops replication first ends the transaction that it applies. */
const stopDeadlineMs = 30_000
/** So long a replica may take to apply what it lacks: as long as orchestrator waits. */
const catchUpWithinMs = 20_000
/** A server becomes read-only once commits that are under way have ended; longer than that is waited for nowhere. */
const readOnlyDeadlineMs = (statements.closesWithinSeconds + 5) * 1_000
const connectsWithinMs = 2_000
const lookAgainMs = 50

export interface Doing {
  readonly of: (instance: string) => ServerHand
}

const plains = ['stop', 'start', 'stopReceiving', 'startReceiving', 'reset', 'lead', 'flushLogs', 'drain'] as const
/** What is said by the word alone. */
type Plain = (typeof plains)[number]

function isPlain(step: Step): step is Of<Plain> {
  return plains.some((plain) => plain === step.do)
}

type Of<Do extends Step['do']> = Extract<Step, { readonly do: Do }>

/** A server of a watched cluster, while a plan is carried out: a session of its own, and nothing remembered. */
export class ServerHand {
  readonly #host: AdoptedHost
  readonly #hosts: readonly AdoptedHost[]
  readonly #session: ServerSession
  readonly #facts: ServerFacts
  readonly #world: { readonly clock: Clock; readonly timers: Timers }

  private constructor(
    hosts: { readonly host: AdoptedHost; readonly hosts: readonly AdoptedHost[] },
    session: ServerSession,
    facts: ServerFacts,
    world: { readonly clock: Clock; readonly timers: Timers },
  ) {
    this.#host = hosts.host
    this.#hosts = hosts.hosts
    this.#session = session
    this.#facts = facts
    this.#world = world
  }

  static async open(
    host: AdoptedHost,
    hosts: readonly AdoptedHost[],
    world: { readonly clock: Clock; readonly timers: Timers },
  ): Promise<ServerHand> {
    const session = await ServerSession.open(host, await loginOf(host), readDeadlineMs)
    return new ServerHand({ host, hosts }, session, await readFacts(session, readDeadlineMs), world)
  }

  get isOpen(): boolean {
    return this.#session.isOpen
  }

  close(): void {
    this.#session.close()
  }

  /** Throws `REGENT_REFUSED` with what its owner has to do before that can be done. */
  async refuseUnready(steps: readonly Step[]): Promise<void> {
    await this.#refuseWithoutRights(steps)
    const read = whyRead(this.#host.instance, steps, this.#facts)
    if (read !== undefined) throw new RegentError('REGENT_REFUSED', read, { remedy: '' })
    const own = steps.filter(({ at }) => at === this.#host.instance)
    if (own.some((step) => step.do === 'follow' && step.login)) await this.#loginOfReplication()
    if (own.some((step) => step.do === 'lead') && (await this.#look()).channels.length > 1)
      throw new RegentError('REGENT_REFUSED', say`${this.#name} has several channels: nobody said which one ends`)
  }

  async #refuseWithoutRights(steps: readonly Step[]): Promise<void> {
    const own = steps.filter(({ at }) => at === this.#host.instance)
    if (own.length === 0) return
    const grants = (await this.#session.query('SHOW GRANTS', readDeadlineMs)).map((row) =>
      String(Object.values(row)[0]),
    )
    const lacked = lackedRights(own, grants, this.#facts.dialect)
    if (lacked.length === 0) return
    const { user } = this.#host.mysql
    throw new RegentError(
      'REGENT_REFUSED',
      say`account ${user} may not do that at ${this.#name}, and nothing was done: grant ${lacked.join(', ')} for everything to that account`,
    )
  }

  async takesWrites(): Promise<boolean> {
    const { readOnly, offline } = await this.#look()
    return !readOnly && !offline
  }

  async executed(): Promise<string> {
    return (await this.#look()).executed
  }

  /** What it has executed or received. */
  async holds(): Promise<GtidSet> {
    const { executed, channels } = await this.#look()
    return channels.reduce((all, { received }) => all.union(GtidSet.parse(received)), GtidSet.parse(executed))
  }

  async executedWithout(gtids: string): Promise<string> {
    return GtidSet.parse(await this.executed())
      .subtract(GtidSet.parse(gtids))
      .toString()
  }

  async setPurgedIfEmpty(keep: string): Promise<void> {
    if ((await this.executed()) === '' && keep !== '') await this.#query(statements.setPurged(keep))
  }

  /** Rejects with what the server said, and what was asked of it. */
  async do(step: Step, doing: Doing): Promise<void> {
    try {
      await this.#do(step, doing)
    } catch (error) {
      throw new RegentError('REGENT_REFUSED', say`${step.do} at ${this.#name}: ${described(error)}`, { cause: error })
    }
  }

  async #do(step: Step, doing: Doing): Promise<void> {
    if (isPlain(step)) return this.#plain[step.do]()
    switch (step.do) {
      case 'catchUp':
        return this.#catchUp(await doing.of(step.with).executed())
      case 'advance':
        return this.#advance(await placeOf(step.to, doing))
      case 'level':
        return this.#level(step, doing)
      case 'covers':
        return this.#covers(await doing.of(step.with).holds())
      case 'follow':
        return this.#follow(step, doing)
      default:
        return this.#set(step)
    }
  }

  readonly #plain: { readonly [Do in Plain]: () => Promise<void> } = {
    stop: () => this.#stop(),
    start: async () => {
      await this.#query(statements.startReplica(await this.#speech()))
      await this.#connects()
    },
    stopReceiving: async () => this.#query(statements.stopReceiving(await this.#speech())),
    startReceiving: async () => this.#query(statements.startReceiving(await this.#speech())),
    reset: () => this.#reset(),
    lead: () => this.#lead(),
    flushLogs: () => this.#query('FLUSH BINARY LOGS'),
    drain: () => this.#until(() => this.#isDrained(), 'it did not apply what it has received'),
  }

  /** Also where a change is done once more, and it follows nobody any more. */
  async #stop(): Promise<void> {
    if (await this.#follows()) await this.#query(statements.stopReplica(await this.#speech()), stopDeadlineMs)
  }

  async #reset(): Promise<void> {
    if (await this.#follows()) await this.#query(statements.resetReplica(await this.#speech()))
  }

  async #lead(): Promise<void> {
    await this.#stop()
    await this.#reset()
    await this.#query(statements.readOnlyStatements(this.#facts.dialect, false).join('; '))
  }

  async #follows(): Promise<boolean> {
    return (await this.#look()).channels.length > 0
  }

  async #covers(received: GtidSet): Promise<void> {
    const lacks = received.subtract(GtidSet.parse(await this.executed()))
    if (!lacks.isEmpty())
      throw new Error(`it has not got ${counted(lacks.count(), 'transaction')} that the other one received`)
  }

  async #set(step: Of<'readOnly' | 'semiSync' | 'inject' | 'resetGtids' | 'absent'>): Promise<void> {
    const { dialect } = this.#facts
    switch (step.do) {
      case 'absent':
        throw new Error('it answers')
      case 'readOnly':
        return this.#query(statements.readOnlyStatements(dialect, step.on).join('; '), readOnlyDeadlineMs)
      case 'semiSync':
        return this.#query(statements.semiSyncStatement(dialect, step.side, step.on))
      case 'inject':
        for (const gtid of GtidSet.parse(step.gtids).each())
          await this.#query(statements.injectStatements(gtid).join('; '))
        return
      case 'resetGtids':
        return this.#query(statements.resetGtids(dialect, await this.executedWithout(step.without)), stopDeadlineMs)
    }
  }

  /** The end of its own binlog. */
  async binlogEnd(): Promise<BinlogPosition> {
    const { binlog } = await this.#look()
    if (binlog === null) throw new Error('it writes no binlog')
    return binlog
  }

  async applied(): Promise<BinlogPosition> {
    return (await this.#channel()).applied
  }

  async source(): Promise<{ readonly host: string; readonly port: number }> {
    const { sourceHost: host, sourcePort: port } = await this.#channel()
    return { host, port }
  }

  async #follow(step: Of<'follow'>, doing: Doing): Promise<void> {
    const { host, port } = await this.#addressOf(step.source, doing)
    const from = step.from === 'gtids' ? step.from : await placeOf(step.from, doing)
    const speech = step.login === true ? { dialect: this.#facts.dialect, channel: '' } : await this.#speech()
    const login = step.login === true ? await this.#loginOfReplication() : undefined
    await this.#query(statements.changeSource(speech, { host, port, from, ...(login && { login }) }))
  }

  async #addressOf(source: SourceThen, doing: Doing): Promise<{ readonly host: string; readonly port: number }> {
    if ('sourceOf' in source) return doing.of(source.sourceOf).source()
    if ('host' in source) return source
    const host = this.#hosts.find(({ instance }) => instance === source.instance)
    if (host === undefined) throw new Error(`${source.instance} is not watched`)
    return host
  }

  async #loginOfReplication() {
    const { replication, mysql } = this.#host
    if (replication === undefined)
      throw new Error('nobody said by which account it is to follow: give replication in the adoption file')
    const password = await readPassword(replication.passwordFile)
    return { user: replication.user, password, encrypted: mysql.caFile !== undefined }
  }

  /** The caller is to see how the connection went; a source that does not answer is no failure of the step. */
  async #connects(): Promise<void> {
    const { clock, timers } = this.#world
    const endMs = clock.monotonicMs() + connectsWithinMs
    for (; clock.monotonicMs() < endMs; await timers.sleep(lookAgainMs)) {
      const { io, ioErrno } = await this.#channel()
      if (io === 'yes' || ioErrno !== 0) return
    }
  }

  async #catchUp(wanted: string): Promise<void> {
    const all = GtidSet.parse(wanted)
    await this.#until(async () => GtidSet.parse(await this.executed()).contains(all), 'it did not catch up')
  }

  async #isDrained(): Promise<boolean> {
    const { executed, gtidMode, channels } = await this.#look()
    const [channel] = channels
    if (channel === undefined) return true
    return gtidMode === 'ON'
      ? GtidSet.parse(executed).contains(GtidSet.parse(channel.received))
      : isSame(channel.applied, channel.read)
  }

  /** Stands at exactly this place afterwards. */
  async #advance(place: BinlogPosition): Promise<void> {
    const speech = await this.#speech()
    if (isSame(await this.applied(), place)) return
    await this.#query(statements.startUntil(speech, place))
    await this.#until(async () => {
      const { applied, sql } = await this.#channel()
      return isSame(applied, place) || !sql
    }, `it did not get to ${place.file}:${place.position}`)
    await this.#query(statements.stopReplica(speech), stopDeadlineMs)
    const { applied } = await this.#channel()
    if (!isSame(applied, place))
      throw new Error(`it stands at ${applied.file}:${applied.position} and not at ${place.file}:${place.position}`)
  }

  async #level({ with: other }: Of<'level'>, doing: Doing): Promise<void> {
    const [own, its] = [await this.applied(), await doing.of(other).applied()]
    const order = comparePositions(own, its)
    if (order < 0) await this.#advance(its)
    else if (order > 0) await doing.of(other).#advance(own)
  }

  async #until(isSo: () => Promise<boolean>, otherwise: string): Promise<void> {
    const { clock, timers } = this.#world
    const endMs = clock.monotonicMs() + catchUpWithinMs
    while (!(await isSo())) {
      if (clock.monotonicMs() > endMs) throw new Error(`${otherwise} within ${catchUpWithinMs / 1_000} s`)
      await timers.sleep(lookAgainMs)
    }
  }

  async #speech(): Promise<statements.Speech> {
    return { dialect: this.#facts.dialect, channel: (await this.#channel()).name }
  }

  async #channel(): Promise<SeenChannel> {
    const { channels } = await this.#look()
    const [channel, second] = channels
    if (channel === undefined) throw new Error('it follows nobody')
    if (second !== undefined) throw new Error('it has several channels, and nobody said which one is meant')
    return channel
  }

  async #look(): Promise<SeenServer> {
    return readServer(this.#session, this.#facts, readDeadlineMs)
  }

  async #query(statement: string, deadlineMs = 10_000): Promise<void> {
    await this.#session.query(statement, deadlineMs)
  }

  get #name(): string {
    return `${this.#host.instance} (${addressText(this.#host)})`
  }
}

async function placeOf(place: PlaceThen, { of }: Doing): Promise<BinlogPosition> {
  return 'endOf' in place ? of(place.endOf).binlogEnd() : of(place.appliedBy).applied()
}

function isSame(one: BinlogPosition, other: BinlogPosition): boolean {
  return one.file === other.file && one.position === other.position
}
