import type { NodeSSH } from 'node-ssh'
import { Worker, type WorkerPorts } from './worker.ts'

/** So many scripts run at once on a host, beside the one that watches; sshd allows ten sessions. */
const most = 4
/** So many wait ready. Their logins come one after the other: many at once keep a small host from everything else. */
const ready = 3

/** The workers of one connection. */
export class Workers {
  readonly #ssh: NodeSSH
  readonly #ports: WorkerPorts
  /** Workers that there are, or that are being made. */
  #count = 0
  #idle: Worker[] = []
  readonly #queue: PromiseWithResolvers<Worker>[] = []

  constructor(ssh: NodeSSH, ports: WorkerPorts) {
    this.#ssh = ssh
    this.#ports = ports
  }

  /** A worker of its own, for a script that does not end. */
  open(): Promise<Worker> {
    return Worker.open(this.#ssh, this.#ports)
  }

  /** Workers that a failover needs are there before it begins. Ends with the connection. */
  async makeReady(): Promise<void> {
    while (this.#count < ready) await this.#add()
  }

  /** @param use rejects with `over` when it takes too long: then what runs there is ended. */
  async with<T>(use: (worker: Worker) => Promise<T>, over: Promise<never>): Promise<T> {
    const taken = this.#take()
    let worker: Worker
    try {
      worker = await Promise.race([taken, over])
    } catch (error) {
      taken.then(
        (late) => this.#giveBack(late),
        () => undefined,
      )
      throw error
    }
    try {
      return await Promise.race([use(worker), over])
    } finally {
      this.#giveBack(worker)
    }
  }

  #take(): Promise<Worker> {
    const free = this.#idle.findLast((worker) => worker.isFree)
    if (free !== undefined) {
      this.#idle = this.#idle.filter((worker) => worker !== free)
      return Promise.resolve(free)
    }
    const waits = Promise.withResolvers<Worker>()
    this.#queue.push(waits)
    this.#grow()
    return waits.promise
  }

  /** Also once a worker is gone: those who wait for one would wait for nobody. */
  #grow(): void {
    if (this.#queue.length === 0 || this.#count >= most) return
    this.#add().catch((error: unknown) => {
      this.#queue.shift()?.reject(error)
      this.#grow()
    })
  }

  async #add(): Promise<void> {
    this.#count += 1
    try {
      const worker = await this.open()
      void worker.gone.then(() => {
        this.#count -= 1
        this.#idle = this.#idle.filter((one) => one !== worker)
        this.#grow()
      })
      this.#giveBack(worker)
    } catch (error) {
      this.#count -= 1
      throw error
    }
  }

  #giveBack(worker: Worker): void {
    if (!worker.isFree) return worker.stop()
    const next = this.#queue.shift()
    if (next === undefined) this.#idle.push(worker)
    else next.resolve(worker)
  }
}
