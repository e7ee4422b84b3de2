import type { GroupPort } from '#agents/ports/group.ts'
import { say } from '#common/sentence/sentence.ts'
import { replicationUser, type ServerPort } from '#agents/ports/server.ts'
import { RegentError } from '#common/errors/errors.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { unionOf } from '#topology/snapshot/holdings.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import type { ServerState } from '#topology/snapshot/observation.ts'
import type { OpenChange } from '#topology/snapshot/open-changes.ts'
import type { Road } from '../far/roads.ts'
import type { Machine } from '../machine.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { VirtualTime } from '../virtual-time.ts'
import type { Mysqld } from './mysqld.ts'
import type { CommitAnswer } from './semi-sync-source.ts'
import { noTablesAt } from './still-view.ts'

interface Ports {
  readonly time: VirtualTime
  readonly random: SeededRandom
  /** The instance at this address, where the network lets `from` reach that instance. */
  readonly machineAt: (host: string, from: InstanceName) => Machine | undefined
  /** A server lets clients in from now on. */
  readonly opened: (machine: Machine) => void
  /** The way to a far server. Absent for one beside its agent. */
  readonly road?: Road
  /** Of which start of a far server a session may be. */
  readonly ownStart?: { allows(startedAt: number): boolean }
  /** What a server shows of its replication group. In mode `group` alone. */
  readonly groupOf?: (server: Mysqld) => Pick<ServerState, 'group' | 'changedSettings'>
}

const queryMs = 800
const pollMs = 5
const gatesMs = 3_000
/** What a killed session may take to be gone. */
const goneMs = 2_000
const rotateMs = 1_000
/** A donor waits so long for what stands in the way of a copy. */
const cloneMs = 300_000

/** A machine's mysqld as its agent's connections see the server. */
export class SimulatedServer implements ServerPort {
  /** In mode `group` alone. */
  group?: GroupPort
  readonly #machine: Machine
  readonly #ports: Ports
  #connectedTo: Mysqld | null = null
  #underWay = 0
  /** Statements that wait for somebody's lock: how each begins, and since when. */
  readonly #behindLocks = new Set<{ readonly behind: string; readonly sinceMs: number }>()

  constructor(machine: Machine, ports: Ports) {
    this.#machine = machine
    this.#ports = ports
  }

  /** One statement of a port beside this one. */
  readonly statement = <T>(act: (server: Mysqld) => T, deadlineMs?: number): Promise<T> => this.#ask(act, deadlineMs)

  readState = async (): Promise<ServerState> => {
    const held = await this.#ask(({ group }) => group?.isStopping === true)
    if (held) await this.#until(({ group }) => group?.isStopping !== true, queryMs)
    return this.#ask((server) => this.#stateOf(server))
  }

  readHolds: ServerPort['readHolds'] = () =>
    this.#ask(({ folder }) => ({
      received: folder.received.toString(),
      owned: unionOf(folder.prepared.map(({ gtid }) => gtid.toString())).toString(),
      executed: folder.executed.toString(),
    }))

  open = (): Promise<void> =>
    this.#ask((server) => {
      server.readOnly = server.superReadOnly = server.offline = server.isOpenByHand = false
      this.#ports.opened(this.#machine)
    })

  setReadOnly: ServerPort['setReadOnly'] = async (state, deadlineMs = 5_000) => {
    if (state === 'accounts')
      return this.#ask((server) => {
        server.superReadOnly = false
        server.readOnly = true
      })
    const closing = await this.#ask((server) => (server.beginClosing(), server))
    let isDone = false
    try {
      // Commits that wait for an acknowledgement hold the statement up.
      await this.#until((server) => server.waiting === 0, deadlineMs)
      isDone = true
    } finally {
      closing.endClosing(isDone)
    }
    await this.#ask(() => undefined)
  }

  setOffline: ServerPort['setOffline'] = (on) =>
    this.#ask((server) => {
      server.offline = on
      if (on) server.killForeignSessions()
    })

  killForeignSessions: ServerPort['killForeignSessions'] = async (deadlineMs = goneMs) => {
    await this.#ask(() => undefined)
    await this.#until((server) => (server.killForeignSessions(), !server.hasForeignSessions), deadlineMs)
  }

  // Its transactions have one row each.
  killSessions = (): Promise<void> => this.#ask(() => undefined)
  openChanges = async (): Promise<readonly OpenChange[]> => []
  foreignSessions = (): Promise<number> => this.#ask((server) => server.waiting)
  busySessions = (): Promise<number> => this.#ask((server) => server.waiting)
  // The plugin ends them once its group is asked to elect.
  endBusySessions = (): Promise<void> => this.#ask(() => undefined)
  waitingSessions = (): Promise<number> => this.#ask(({ folder }) => folder.prepared.length)

  stopReceiver = (): Promise<void> => this.#ask((server) => server.receiver.stop())
  startReceiver = (): Promise<void> => this.#ask((server) => server.receiver.start())
  startApplier = (): Promise<void> => this.#ask((server) => server.startApplier())
  stopApplier = (): Promise<void> => this.#ask((server) => void (server.applierRuns = false))

  pointTo: ServerPort['pointTo'] = ({ host, user }) =>
    this.#ask((server) => {
      const { folder } = server
      if (server.receiver.status !== 'no') throw new RegentError('REGENT_SERVER_ERROR', say`the receiver runs`)
      if (folder.backlog > 0) server.startApplier()
      folder.changeSource({ host, user }, server.applierRuns)
    })

  setApplierOptions = (): Promise<void> => this.#ask(() => undefined)
  setStoppedOptions = (): Promise<boolean> => this.#ask(() => true)

  forgetSource = (): Promise<void> =>
    this.#ask((server) => {
      server.receiver.stop()
      server.applierRuns = false
      server.folder.forgetSource()
    })

  clearFilters = (): Promise<void> => this.#ask((server) => void (server.isFiltered = false))

  stillView: ServerPort['stillView'] = () => this.#ask(({ folder }) => noTablesAt(folder.executed))

  waitExecuted: ServerPort['waitExecuted'] = async (set, waitMs) => {
    await this.#ask(() => undefined)
    return this.#within(({ folder }) => folder.executed.contains(parseGtidSet(set)), waitMs)
  }

  waitApplied: ServerPort['waitApplied'] = (set, stalledMs) => this.waitExecuted(set, stalledMs)

  waitReceived: ServerPort['waitReceived'] = async (set, waitMs) => {
    await this.#ask(() => undefined)
    return this.#within(({ folder }) => folder.executed.union(folder.received).contains(parseGtidSet(set)), waitMs)
  }

  forgetTail = (): Promise<void> => this.#ask(() => void (this.#machine.tail = []))
  applyTail: ServerPort['applyTail'] = async (_, gtids, deadlineMs) => {
    for (const transaction of this.#machine.tail) {
      await this.#takes(0.2, 2)
      await this.#until((server) => server.applyOfTail(transaction), deadlineMs)
    }
    if (!(await this.waitExecuted(gtids, deadlineMs))) throw tooLate(deadlineMs)
  }

  setSemiSyncReplica: ServerPort['setSemiSyncReplica'] = (on) =>
    this.#ask((server) => void (server.semiSyncReplica = on))
  setSemiSyncSource: ServerPort['setSemiSyncSource'] = (acks) => this.#ask((server) => server.setSemiSyncSource(acks))

  setGates: ServerPort['setGates'] = async (open) => {
    const isSet = ({ folder }: Mysqld): boolean =>
      open.length === folder.gates.size && open.every((instance) => folder.gates.has(instance))
    if (await this.#ask(isSet)) return
    await this.#behind(
      'ALTER USER',
      this.#until((server) => !server.holdsUpAccounts, gatesMs),
    )
    return this.#ask((server) => {
      if (server.superReadOnly)
        throw new RegentError('REGENT_SERVER_ERROR', say`the server runs with super_read_only: no account changes`)
      server.folder.gates = new Set(open)
      for (const dump of server.dumps) if (!open.includes(dump.instance)) dump.end()
    })
  }

  killDumpThreads: ServerPort['killDumpThreads'] = (keep) =>
    this.#ask((server) => {
      const shown = this.#stateOf(server).dumpThreads
      const killed = shown.filter((thread) => !keep(thread)).map(({ threadId }) => threadId)
      for (const dump of server.dumps) if (killed.includes(dump.threadId)) dump.end()
      return killed
    })

  waitSessionsGone: ServerPort['waitSessionsGone'] = async (ids) => {
    if (ids.length > 0)
      await this.#until((server) => !server.dumps.some(({ threadId }) => ids.includes(threadId)), 3_000)
  }

  writeMarker: ServerPort['writeMarker'] = () => this.#writeOwn('UPDATE regent.marker')

  writeHeartbeat: ServerPort['writeHeartbeat'] = () => this.#writeOwn('REPLACE INTO regent.heartbeat')

  async #writeOwn(statement: string): Promise<void> {
    const answer = await this.#ask((server) => {
      if (server.superReadOnly) throw new RegentError('REGENT_SERVER_ERROR', say`the server runs with super_read_only`)
      const heard = Promise.withResolvers<CommitAnswer>()
      const isHeldUp = server.commitNew(true, heard.resolve) === undefined
      return { heard: isHeldUp ? this.#behind(statement, heard.promise) : heard.promise }
    })
    const heard = await answer.heard
    if (heard === 'lost') throw down()
    if (heard === 'refused') throw new RegentError('REGENT_SERVER_ERROR', say`the server runs with super_read_only`)
  }

  writeEmpty: ServerPort['writeEmpty'] = async (gtid) => {
    const heard = await this.#ask((server) => {
      const named = parseGtidSet(gtid)
      if (server.folder.executed.contains(named)) return undefined
      const answer = Promise.withResolvers<CommitAnswer>()
      server.commitNew(true, answer.resolve, named)
      return { answer: answer.promise }
    })
    if ((await heard?.answer) === 'lost') throw down()
  }

  setPasswords = (): Promise<void> => this.#ask(() => undefined)
  provisionAccount = (): Promise<void> => this.#ask(() => undefined)

  oldestStatementMs = (): number => {
    const { nowMs } = this.#ports.time
    return Math.max(this.#underWay, ...[...this.#behindLocks].map(({ sinceMs }) => nowMs - sinceMs))
  }

  blockers: ServerPort['blockers'] = () =>
    this.#ask(({ locks }) => {
      const [first] = this.#behindLocks
      return first === undefined ? [] : locks.blockersOf(first.behind)
    })

  endBlocker: ServerPort['endBlocker'] = ({ session }) => this.#ask(({ locks }) => locks.end(session))

  probeWrite: ServerPort['probeWrite'] = (deadlineMs) =>
    this.#ask(() => ({ result: 'ok' as const, detail: '' }), deadlineMs).catch((error: unknown) => ({
      result:
        error instanceof RegentError && error.code === 'REGENT_SERVER_TIMEOUT'
          ? ('stuck' as const)
          : ('unknown' as const),
      detail: String(error),
    }))

  setEvents = (): Promise<void> => this.#ask(() => undefined)
  eventChanges = (): number => 0
  recordEvents = async (): Promise<void> => undefined

  cloneInto: ServerPort['cloneInto'] = async (directory, donor, progress) => {
    await this.#ask(() => undefined)
    for (const percent of [0, 30, 60, 100]) {
      progress(say`copying`, percent)
      await this.#sleep(this.#ports.random.between(5, 250))
      await this.#ask(() => undefined)
      this.#donorAt(donor.host)
    }
    this.#machine.folders.set(directory, (await this.#donorAtRest(donor.host)).folder.clone(''))
  }

  // No copy is made over data in a simulation, and nobody streams one.
  cloneOver = (): Promise<string> => Promise.reject(new Error('no copy is made over data here'))
  requireCopied = (): Promise<void> => Promise.reject(new Error('no copy was made over data here'))
  cloneLocal = async (): Promise<void> => undefined
  endLocalClones = async (): Promise<void> => undefined

  #donorAt(host: string): Mysqld {
    const mysqld = this.#ports.machineAt(host, this.#machine.name)?.mysqld
    if (!mysqld?.isUp || mysqld.state !== 'running')
      throw new RegentError('REGENT_SERVER_ERROR', say`the donor ${host} cannot be reached`)
    if (!mysqld.folder.gates.has(this.#machine.name))
      throw new RegentError('REGENT_SERVER_ERROR', say`the account at the donor ${host} is locked`)
    return mysqld
  }

  /** A donor is copied to the end once none of its transactions waits for an acknowledgement. */
  async #donorAtRest(host: string): Promise<Mysqld> {
    const { time } = this.#ports
    const until = time.nowMs + cloneMs
    for (;;) {
      const mysqld = this.#donorAt(host)
      if (mysqld.folder.prepared.length === 0) return mysqld
      if (time.nowMs > until) throw new RegentError('REGENT_SERVER_ERROR', say`the donor ${host} gave the copy up`)
      await this.#sleep(pollMs)
      await this.#ask(() => undefined)
    }
  }

  showCertificate = async (): Promise<void> => undefined

  beginBinlogAfter: ServerPort['beginBinlogAfter'] = async (bytes) => {
    const isLarge = await this.#ask(({ folder }) => folder.newestBytes > bytes)
    if (!isLarge) return
    // The end of a file is what recovery looks at: nothing in an older one may be prepared only.
    await this.#until(({ folder }) => folder.prepared.length === 0 && folder.beginFile(), rotateMs)
  }

  purgeBinlogsBefore = (): Promise<void> => this.#ask(() => undefined)
  setSetting = (): Promise<void> => this.#ask(() => undefined)
  lacks: ServerPort['lacks'] = async () => []
  supply = (): Promise<void> => this.#ask(() => undefined)
  supplyEverywhere = (): Promise<void> => this.#ask(() => undefined)
  whyRefused = async (): Promise<string> => ''

  shutdown = (): Promise<void> =>
    this.#ask((server) => {
      server.stopInOrder()
    })

  disconnect = (): void => void (this.#connectedTo = null)

  /** There and back; the server may end, or stand still, at any moment of it. */
  async #ask<T>(act: (server: Mysqld) => T, deadlineMs = queryMs): Promise<T> {
    await this.#takes(0.05, 1)
    await this.#travel(deadlineMs)
    const server = await this.#awake(deadlineMs)
    this.#requireOwn(server)
    const answer = act(server)
    await this.#takes(0.05, 1.5)
    await this.#travel(deadlineMs)
    if (server.state === 'dead') throw down()
    return answer
  }

  /** Pools have sessions ready, and make others: for a far server each statement may be the first of a new one. */
  #requireOwn(server: Mysqld): void {
    const { ownStart } = this.#ports
    if (ownStart !== undefined) {
      if (!ownStart.allows(server.startedAt)) throw down()
      return
    }
    this.#connectedTo ??= server
    if (this.#connectedTo === server) return
    this.#connectedTo = null
    throw down()
  }

  /** One way to a far server, or back from there. */
  async #travel(deadlineMs: number): Promise<void> {
    if ((await this.#ports.road?.pass(deadlineMs)) === false) throw tooLate(deadlineMs)
  }

  async #behind<T>(behind: string, statement: Promise<T>): Promise<T> {
    const one = { behind, sinceMs: this.#ports.time.nowMs }
    this.#behindLocks.add(one)
    return statement.finally(() => this.#behindLocks.delete(one))
  }

  /** A frozen server answers once the server goes on, within the deadline. */
  async #awake(deadlineMs: number): Promise<Mysqld> {
    const until = this.#ports.time.nowMs + deadlineMs
    for (;;) {
      if (this.#ports.road?.isCut === true) await this.#travel(deadlineMs)
      const { mysqld } = this.#machine
      if (mysqld?.isUp) return mysqld
      if (mysqld?.state !== 'frozen') throw down()
      this.#underWay = deadlineMs - (until - this.#ports.time.nowMs)
      if (this.#ports.time.nowMs >= until) throw tooLate(deadlineMs)
      await this.#sleep(pollMs * 4)
    }
  }

  async #within(holds: (server: Mysqld) => boolean, waitMs: number): Promise<boolean> {
    const until = this.#ports.time.nowMs + waitMs
    for (;;) {
      const server = await this.#awake(Math.max(queryMs, waitMs))
      if (holds(server)) return true
      if (this.#ports.time.nowMs >= until) return false
      await this.#sleep(pollMs)
    }
  }

  async #until(holds: (server: Mysqld) => boolean, deadlineMs: number): Promise<void> {
    if (!(await this.#within(holds, deadlineMs))) throw tooLate(deadlineMs)
  }

  #takes(leastMs: number, mostMs: number): Promise<void> {
    return this.#sleep(this.#ports.random.between(leastMs, mostMs))
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#ports.time.after(ms, resolve))
  }

  #stateOf(server: Mysqld): ServerState {
    const { folder, receiver, semiSyncSource, dumps } = server
    return {
      uuid: folder.uuid,
      version: '9.7.4',
      readOnly: server.readOnly,
      superReadOnly: server.superReadOnly,
      offlineMode: server.offline,
      executed: folder.executed.toString(),
      owned: unionOf(folder.prepared.map(({ gtid }) => gtid.toString())).toString(),
      purged: folder.copied.toString(),
      received: folder.received.toString(),
      channel: folder.source && {
        sourceHost: folder.source.host,
        sourcePort: 3306,
        sourceUser: folder.source.user,
        sourceUuid: receiver.sourceUuid,
        ioRunning: receiver.status,
        sqlRunning: server.applierRuns,
        ioError: receiver.error,
        ...(receiver.errno === 0 ? {} : { ioErrno: receiver.errno }),
        sqlError: '',
        backlogTransactions: folder.backlog,
        lagSeconds: null,
        semiSync: receiver.status === 'yes' && receiver.semiSync,
        filtered: server.isFiltered,
        silentMs: receiver.silentMs,
        hasRead: receiver.hasRead === null ? null : { file: 1, position: receiver.hasRead },
      },
      dumpThreads: dumps.map((dump) => ({
        threadId: dump.threadId,
        user: replicationUser(dump.instance),
        host: dump.host,
        serverUuid: dump.serverUuid,
        semiSync: dump.semiSync,
      })),
      semiSyncSource: {
        enabled: semiSyncSource.enabled,
        acks: semiSyncSource.acks,
        intact: true,
        waiting: server.waiting,
        unacknowledged: semiSyncSource.unacknowledged,
      },
      openGates: [...folder.gates],
      runningSessions: folder.prepared.length,
      binlogNumber: server.isWithoutBinlog ? 0 : 1,
      binlogPosition: server.isWithoutBinlog ? 0 : folder.binlog.length,
      foreignTables: [],
      persisted: [],
      ...this.#ports.groupOf?.(server),
    }
  }
}

function down(): RegentError {
  return new RegentError('REGENT_SERVER_DOWN', say`mysqld does not run, or ended`)
}

function tooLate(ms: number): RegentError {
  return new RegentError('REGENT_SERVER_TIMEOUT', say`no answer within ${ms} ms`)
}
