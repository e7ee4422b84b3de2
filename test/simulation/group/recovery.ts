import type { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Transaction } from '../mysqld/data-folder.ts'
import type { Member } from './member.ts'
import type { GroupPorts } from './ports.ts'

/** `group_replication_recovery_retry_count` and `…_reconnect_interval`, as the agent sets them. */
const mostTries = 10
const tryAgainMs = 2_000
const lookMs = 20

/**
 * Distributed recovery: a joiner gets from another member what the group had agreed on before it came. What the group
 * agrees on meanwhile waits in the memory of the joiner. Once all of that is applied it says that it is ONLINE.
 */
export class Recovery {
  readonly #own: Member
  readonly #ports: GroupPorts
  /** Null once it has ended, or was never needed. */
  #queue: Transaction[] | null = null
  #tries = 0

  constructor(own: Member, ports: GroupPorts) {
    this.#own = own
    this.#ports = ports
  }

  /** @param needs all that the group had agreed on before this view */
  begin(needs: GtidSet): void {
    this.#queue = []
    this.#own.mysqld.startGroupApplier()
    this.#soon(lookMs, () => this.#fetch(needs))
  }

  /** True where it keeps the transaction for later. */
  queues(transaction: Transaction): boolean {
    this.#queue?.push(transaction)
    return this.#queue !== null
  }

  #soon(ms: number, next: () => void): void {
    this.#ports.time.after(this.#ports.random.between(ms / 2, ms), () => {
      if (!this.#own.isThere) return
      if (this.#own.runs) next()
      else this.#soon(lookMs, next)
    })
  }

  #fetch(needs: GtidSet): void {
    const { folder } = this.#own.mysqld
    if (folder.executed.contains(needs)) return this.#applyQueue()
    const lacks = needs.subtract(folder.executed.union(folder.received))
    if (lacks.isEmpty()) return this.#soon(lookMs, () => this.#fetch(needs))
    const donors = [...this.#own.agreed.online].filter((one) => this.#mayGive(one))
    if (donors.length === 0) return this.#failed(needs)
    this.#copyFrom(this.#ports.random.pick(donors))
    this.#soon(lookMs, () => this.#fetch(needs))
  }

  #mayGive(donor: Member): boolean {
    const { folder } = this.#own.mysqld
    const held = folder.executed.union(folder.received)
    return donor !== this.#own && this.#own.hears(donor) && held.contains(donor.mysqld.folder.copied)
  }

  #copyFrom({ mysqld: { folder: given } }: Member): void {
    const { folder } = this.#own.mysqld
    for (const transaction of given.binlog) {
      if (!given.committed.has(transaction) || folder.has(transaction)) continue
      folder.binlog.push(transaction)
      folder.commit(transaction)
    }
  }

  #failed(needs: GtidSet): void {
    this.#tries += 1
    if (this.#tries >= mostTries)
      return this.#own.fail('Maximum number of retries when trying to connect to a donor reached')
    this.#soon(tryAgainMs, () => this.#fetch(needs))
  }

  #applyQueue(): void {
    const queue = this.#queue ?? []
    this.#queue = null
    for (const transaction of queue) this.#own.receive(transaction)
    this.#soon(lookMs, () => this.#sayOnline())
  }

  #sayOnline(): void {
    if (this.#own.mysqld.folder.backlog > 0) return this.#soon(lookMs, () => this.#sayOnline())
    this.#own.change(({ seats, online, primary }) =>
      seats.includes(this.#own) ? { seats, online: new Set([...online, this.#own]), primary } : undefined,
    )
  }
}
