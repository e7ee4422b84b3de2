import type { InstanceName } from '#topology/snapshot/member.ts'
import type { Transaction } from './data-folder.ts'
import type { Dump, Mysqld } from './mysqld.ts'
import type { Network } from '../network.ts'
import type { VirtualTime } from '../virtual-time.ts'
import type { SeededRandom } from '../seeded-random.ts'

/** The server tries again by itself after so long. */
const retryMs = 1_000
/** `replica_net_timeout`, and what a source needs to notice that nobody reads any more. */
const netTimeoutMs = 5_000
const heartbeatMs = 500
/** Between what comes on one connection: at one moment, the order would be drawn. */
const gapMs = 0.001

export interface ReceiverPorts {
  readonly instance: InstanceName
  readonly host: string
  readonly time: VirtualTime
  readonly random: SeededRandom
  readonly network: Network
  /** It carries the `server_id` of this very server, which lacks it, and is left out for ever. */
  readonly passedOver?: (transaction: Transaction) => void
  readonly sourceAt: (host: string) => { readonly instance: InstanceName; readonly mysqld: Mysqld | null } | undefined
}

/** The IO thread of a replica, and the connection that it reads from. */
export class Receiver {
  readonly #ports: ReceiverPorts
  readonly #own: Mysqld
  status: 'no' | 'connecting' | 'yes' = 'no'
  error = ''
  /** MySQL's number of `error`; 0 for one of which nothing depends on the number. */
  errno = 0
  semiSync = false
  /** So many transactions of its source's binlog it has read on this connection; null while that is not known. */
  hasRead: number | null = null
  #heardAtMs = 0
  /** Another number for each attempt: what belongs to an earlier one has no effect. */
  #attempt = 0
  #connection: Connection | null = null
  /** Kept while the channel points to the same server, connected or not. */
  #last: { readonly host: string; readonly uuid: string } | null = null

  constructor(own: Mysqld, ports: ReceiverPorts) {
    this.#own = own
    this.#ports = ports
  }

  get silentMs(): number | null {
    return this.status === 'no' ? null : this.#ports.time.nowMs - this.#heardAtMs
  }

  get sourceUuid(): string {
    return this.#last !== null && this.#last.host === this.#own.folder.source?.host ? this.#last.uuid : ''
  }

  start(): void {
    if (this.status !== 'no' || this.#own.folder.source === null) return
    this.#clear()
    this.#heardAtMs = this.#ports.time.nowMs
    this.#connectSoon(1)
  }

  stop(): void {
    this.#attempt += 1
    this.#connection?.close()
    this.#connection = null
    this.status = 'no'
  }

  #connectSoon(ms: number): void {
    this.status = 'connecting'
    this.#attempt += 1
    const attempt = this.#attempt
    const { time, random } = this.#ports
    time.after(ms + random.between(0.5, 10), () => {
      if (attempt === this.#attempt && this.status === 'connecting') this.#connect()
    })
  }

  #connect(): void {
    const { instance, host } = this.#ports
    const { source } = this.#own.folder
    if (this.#own.state !== 'running' || source === null) return this.#connectSoon(retryMs)
    const found = this.#reach(source.host)
    if (found === undefined) return this.#failed(`error connecting to source '${source.user}@${source.host}'`)
    if (!found.mysqld.folder.gates.has(instance))
      return this.#failed(`error connecting to source: Access denied; account is locked`, 3118)
    const held = this.#own.folder.executed.union(this.#own.folder.received)
    if (!held.contains(found.mysqld.folder.copied)) {
      this.stop()
      this.error = 'Got fatal error 1236 from source: the source has purged required binary logs'
      this.errno = 13_114
      return
    }
    this.status = 'yes'
    this.#clear()
    this.semiSync = this.#own.semiSyncReplica
    this.#heardAtMs = this.#ports.time.nowMs
    this.#last = { host: source.host, uuid: found.mysqld.folder.uuid }
    this.hasRead = null
    this.#connection = new Connection(this.#own, found.mysqld, {
      ...this.#ports,
      host,
      source: found.instance,
      semiSync: this.semiSync,
      heard: () => (this.#heardAtMs = this.#ports.time.nowMs),
      read: (position) => (this.hasRead = position),
      ended: (connection) => {
        if (this.#connection !== connection) return
        this.#connection = null
        if (this.status === 'yes') this.#connectSoon(this.#ports.random.between(1, 60))
      },
    })
  }

  /** Who is up at an address, and hears and is heard. */
  #reach(host: string): { readonly mysqld: Mysqld; readonly instance: string } | undefined {
    const { sourceAt, network, instance } = this.#ports
    const { mysqld, instance: other = '' } = sourceAt(host) ?? {}
    if (!mysqld?.isUp || !network.reaches(instance, other) || !network.reaches(other, instance)) return undefined
    return { mysqld, instance: other }
  }

  #clear(): void {
    this.error = ''
    this.errno = 0
  }

  #failed(error: string, errno = 2003): void {
    this.error = error
    this.errno = errno
    this.#connectSoon(retryMs)
  }
}

interface ConnectionPorts extends ReceiverPorts {
  readonly source: InstanceName
  readonly semiSync: boolean
  readonly heard: () => void
  readonly read: (position: number) => void
  readonly ended: (connection: Connection) => void
}

/** A dump thread, the receiver, and the two ways between them. */
class Connection {
  readonly #own: Mysqld
  readonly #from: Mysqld
  readonly #ports: ConnectionPorts
  readonly #dump: Dump
  /** What the replica had when it asked: not sent again, and not acknowledged again. */
  readonly #hadAlready: ReadonlySet<Transaction>
  #next = 0
  #isOpen = true
  readonly #there: Way
  readonly #back: Way
  #heardMs: number
  readonly #inbox: (() => void)[] = []

  constructor(own: Mysqld, from: Mysqld, ports: ConnectionPorts) {
    this.#own = own
    this.#from = from
    this.#ports = ports
    this.#hadAlready = new Set(from.folder.binlog.filter((transaction) => own.folder.has(transaction)))
    this.#heardMs = ports.time.nowMs
    this.#there = new Way(ports, [ports.source, ports.instance], () => this.#isOpen)
    this.#back = new Way(ports, [ports.instance, ports.source], () => this.#isOpen)
    this.#dump = from.connect({
      instance: ports.instance,
      host: ports.host,
      serverUuid: own.folder.uuid,
      semiSync: ports.semiSync,
      end: () => this.#brokenByPeer(),
      notify: () => this.#pump(),
    })
    own.onChange(() => this.#read())
    this.#pump()
    // Of what is not sent the replica hears where that ends.
    if (from.folder.binlog.every((transaction) => this.#hadAlready.has(transaction))) ports.read(this.#next)
    this.#watch()
  }

  /** By the replica. */
  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    const { time, random, network, source, instance } = this.#ports
    const told = network.reaches(instance, source)
    time.after(told ? random.between(0.2, 30) : netTimeoutMs, () => this.#from.disconnect(this.#dump))
  }

  /** By the source: killed, or its server ended. The replica hears of that, unless the network is cut. */
  #brokenByPeer(): void {
    this.#from.disconnect(this.#dump)
    const { time, random, network, source, instance } = this.#ports
    if (!network.reaches(source, instance)) return
    time.after(random.between(0.2, 5), () => this.#end())
  }

  #end(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#ports.ended(this)
  }

  #watch(): void {
    const { time } = this.#ports
    time.after(heartbeatMs, () => {
      if (!this.#isOpen) return
      if (this.#own.state === 'running' && time.nowMs - this.#heardMs >= netTimeoutMs) {
        this.close()
        return this.#ports.ended(this)
      }
      const end = this.#next
      if (this.#from.state === 'running') this.#send(() => this.#ports.read(end))
      this.#watch()
    })
  }

  #pump(): void {
    if (!this.#isOpen || this.#from.state !== 'running') return
    const { binlog } = this.#from.folder
    while (this.#next < binlog.length) {
      const position = this.#next
      const transaction = binlog[position]
      this.#next += 1
      if (transaction !== undefined && !this.#hadAlready.has(transaction))
        this.#send(() => this.#arrived(transaction, position))
    }
  }

  #send(arrives: () => void): void {
    if (!this.#from.dumps.includes(this.#dump)) return
    this.#there.send(() => {
      this.#inbox.push(arrives)
      this.#read()
    })
  }

  /** What came while the server was frozen waits in the socket. */
  #read(): void {
    if (this.#own.state !== 'running') return
    for (const arrives of this.#inbox.splice(0)) {
      this.#heardMs = this.#ports.time.nowMs
      this.#ports.heard()
      arrives()
    }
  }

  #arrived(transaction: Transaction, position: number): void {
    const { folder } = this.#own
    const isPassedOver = transaction.serverId === folder.serverId && !folder.has(transaction)
    if (isPassedOver) this.#ports.passedOver?.(transaction)
    else if (!folder.has(transaction)) folder.receive(transaction)
    this.#ports.read(position + 1)
    this.#own.apply()
    if (!this.#dump.semiSync) return
    if (!isPassedOver) folder.acknowledged.push(transaction)
    this.#back.send(() => {
      if (this.#from.dumps.includes(this.#dump)) this.#from.acknowledged(this.#ports.instance, position)
    })
  }
}

type WayPorts = Pick<ReceiverPorts, 'network' | 'time' | 'random'>

/**
 * One way of a TCP connection: nothing overtakes anything, and nothing is left out. What the network does not let
 * through is sent again.
 */
class Way {
  readonly #ports: WayPorts
  readonly #ends: readonly [from: string, to: string]
  readonly #isOpen: () => boolean
  readonly #queue: (() => void)[] = []
  #lastArrivalMs = 0
  #sendsAgain = false

  constructor(ports: WayPorts, ends: readonly [string, string], isOpen: () => boolean) {
    this.#ports = ports
    this.#ends = ends
    this.#isOpen = isOpen
  }

  send(arrives: () => void): void {
    const { network, time } = this.#ports
    this.#lastArrivalMs = Math.max(this.#lastArrivalMs + gapMs, time.nowMs + network.delayMs(...this.#ends))
    time.after(this.#lastArrivalMs - time.nowMs, () => {
      this.#queue.push(arrives)
      this.#flush()
    })
  }

  #flush(): void {
    if (!this.#isOpen() || this.#sendsAgain) return
    const { network, time, random } = this.#ports
    if (network.reaches(...this.#ends)) {
      for (const arrives of this.#queue.splice(0)) if (this.#isOpen()) arrives()
      return
    }
    this.#sendsAgain = true
    time.after(random.between(100, 1_000), () => {
      this.#sendsAgain = false
      this.#flush()
    })
  }
}
