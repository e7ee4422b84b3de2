import { SeededRandom } from '#test/simulation/seeded-random.ts'
import { VirtualTime } from '#test/simulation/virtual-time.ts'
import { Network } from '#test/simulation/network.ts'
import { Machine } from '#test/simulation/machine.ts'
import { replicationUser, type ServerPort } from '#agents/ports/server.ts'
import type { VolumePort } from '#agents/ports/volume.ts'
import { instanceName } from '#topology/snapshot/member.ts'
import { hostOf } from '#topology/testing.ts'
import { DataFolder } from '../data-folder.ts'
import type { Mysqld } from '../mysqld.ts'
import type { Commit, CommitAnswer } from '../semi-sync-source.ts'
import { SimulatedServer } from '../server-port.ts'
import { simulatedVolume } from '../volume-port.ts'
import { playScript, type Heard, type Lock, type LockHolder } from './stage.ts'
import type { Script, Stage, StagedServer, StagedWrite } from './stage.ts'

/** Longer than any script waits for anything. */
const mostMs = 600_000
const lookMs = 5
const patienceMs = 15_000

/** Plays a script with simulated servers and gives what was seen. */
export function playSimulated(script: Script, seed: number): Promise<readonly string[]> {
  return playInTime(script, new SimulatedStage(seed, script.servers))
}

/** Lets time go on until a script has ended. */
export async function playInTime<On extends Stage & { readonly time: VirtualTime }>(
  script: Script<On>,
  stage: On,
): Promise<readonly string[]> {
  let ended = false
  const played = playScript(script, stage).finally(() => (ended = true))
  // Told by `played` once time has gone on to there.
  played.catch(() => undefined)
  await stage.time.runUntil(mostMs, () => ended)
  if (!ended) throw new Error(`"${script.title}" waits for what never happens`)
  return played
}

class SimulatedStage implements Stage {
  readonly servers: readonly StagedServer[]
  readonly time: VirtualTime

  constructor(seed: number, count: number) {
    const random = new SeededRandom(seed)
    const order = random.fork()
    this.time = new VirtualTime(() => order.next())
    const network = new Network(random.fork())
    const names = Array.from({ length: count }, (_, ordinal) => instanceName('bare', ordinal))
    const machines: Machine[] = []
    const machineAt = (host: string): Machine | undefined => machines.find((machine) => machine.host === host)
    for (const name of names) {
      const machine = new Machine(
        name,
        hostOf(name),
        { offsetMs: 0, rate: 1, wallStepMs: 0 },
        {
          time: this.time,
          random: random.fork(),
          network,
          sourceAt: (host) => {
            const found = machineAt(host)
            return found && { instance: found.name, mysqld: found.mysqld }
          },
        },
      )
      machine.folders.set('data', new DataFolder('', new Set(names)))
      machines.push(machine)
    }
    this.servers = machines.map((machine) => {
      const port = new SimulatedServer(machine, {
        time: this.time,
        random: random.fork(),
        machineAt,
        opened: () => undefined,
      })
      return new SimulatedStagedServer(machine, port, this)
    })
  }

  sleep = (ms: number): Promise<void> => new Promise((resolve) => this.time.after(ms, resolve))

  until: Stage['until'] = async (look, what) => {
    const until = this.time.nowMs + patienceMs
    while (!(await look())) {
      if (this.time.nowMs > until) throw new Error(`not within ${patienceMs} ms: ${what}`)
      await this.sleep(lookMs)
    }
  }
}

export class SimulatedStagedServer implements StagedServer {
  protected readonly machine: Machine
  readonly #stage: Stage
  readonly port: ServerPort
  readonly volume: VolumePort

  constructor(machine: Machine, port: ServerPort, stage: Stage) {
    this.machine = machine
    this.#stage = stage
    this.port = port
    this.volume = simulatedVolume(machine, () => stage.sleep(1), new Map())
  }

  get name(): string {
    return this.machine.name
  }

  async start(): Promise<void> {
    this.machine.startMysqld()
    await this.#stage.until(() => this.machine.mysqld?.isUp === true, `${this.name} is up`)
  }

  async kill(): Promise<void> {
    this.machine.mysqld?.die()
    this.port.disconnect()
  }

  async terminate(): Promise<void> {
    this.#mysqld.stopInOrder()
    await this.#stage.until(() => this.machine.mysqld?.state === 'dead', `${this.name} ends`)
    this.port.disconnect()
  }

  async write(): Promise<StagedWrite> {
    const write = new SimulatedWrite(this.#mysqld, this.#stage)
    if (this.#mysqld.mayWrite) this.#mysqld.commitTogether([write.commit])
    else write.heard = 'refused'
    return write
  }

  async writeTogether(count: number): Promise<readonly StagedWrite[]> {
    const writes = Array.from({ length: count }, () => new SimulatedWrite(this.#mysqld, this.#stage))
    this.#mysqld.commitTogether(writes.map(({ commit }) => commit))
    return writes
  }

  sourceFor(replica: StagedServer): ReturnType<StagedServer['sourceFor']> {
    return { host: this.machine.host, port: 3306, user: replicationUser(replica.name), password: 'secret' }
  }

  async changeSourceWithBothStopped(): Promise<void> {
    this.#mysqld.receiver.stop()
    this.#mysqld.applierRuns = false
    this.#mysqld.folder.changeSource(this.#mysqld.folder.source, false)
  }

  async takeLock(lock: Lock): Promise<LockHolder> {
    const release = this.#mysqld.locks.take(lock)
    return { release: async () => release() }
  }

  get #mysqld(): Mysqld {
    const { mysqld } = this.machine
    if (!mysqld?.isUp) throw new Error(`${this.name} is not up`)
    return mysqld
  }
}

const heardAs: Readonly<Record<CommitAnswer, Heard>> = {
  ok: 'OK',
  unproven: 'OK',
  lost: 'lost',
  refused: 'refused',
}

class SimulatedWrite implements StagedWrite {
  readonly #stage: Stage
  readonly #mysqld: Mysqld
  readonly commit: Commit
  heard: Heard = 'nothing'

  constructor(mysqld: Mysqld, stage: Stage) {
    this.#mysqld = mysqld
    this.#stage = stage
    this.commit = { isOwn: false, answer: (answer) => void (this.heard = heardAs[answer]) }
  }

  async ends(): Promise<Heard> {
    await this.#stage.until(() => this.heard !== 'nothing', 'the client hears of its write')
    return this.heard
  }

  async kill(): Promise<void> {
    this.#mysqld.killSession(this.commit)
  }
}
