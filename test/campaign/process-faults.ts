import { setTimeout as sleep } from 'node:timers/promises'
import type { Fault as LocalFault } from '#local/faults/fault-names.ts'
import { readBook } from '#local/processes/process-book.ts'
import { signalProcess } from '#local/processes/process-identity.ts'
import { loseVolume } from '../support/lost-volume.ts'
import type { TestCluster } from '../support/cluster.ts'
import type { Dice } from './dice.ts'
import type { Fault, Scene } from './scene.ts'

/** Most often the primary: there is most to lose. */
export function anyone({ dice, primary, instances }: Scene): string {
  return dice.share() < 0.5 ? primary : dice.pick(instances)
}

/** In mode async a person decides what becomes of a cluster whose primary lost its volume. */
function replica({ dice, primary, instances }: Scene): string {
  return dice.pick(instances.filter((name) => name !== primary))
}

/** What `regent local fault` does to somebody, and what ends it. */
function local(name: string, weight: number, fault: LocalFault, end?: LocalFault): Fault {
  return {
    name,
    weight,
    async strike(scene) {
      const [target, { cluster }] = [anyone(scene), scene]
      await cluster.fault(target, fault)
      return { did: `${fault} ${target}`, ...(end && { heal: () => ended(cluster, target, end) }) }
    },
  }
}

/** What was frozen may be dead by now. */
async function ended(cluster: TestCluster, target: string, end: LocalFault): Promise<void> {
  await cluster.fault(target, end).catch((error: unknown) => {
    if (end === 'start' || !/does not run|ended by itself/.test(String(error))) throw error
  })
}

async function crashAgent(cluster: TestCluster, target: string): Promise<void> {
  await cluster.fault(target, 'kill-agent')
  await cluster.fault(target, 'start')
}

/** Agents and managers stop as when their machine is moved or copied; mysqld goes on. */
async function pauseRegent({ cluster }: Scene, forMs: number): Promise<void> {
  const { processes } = await readBook(cluster.layout)
  const each = (signal: NodeJS.Signals) =>
    Object.values(processes).map((identity) => identity && signalProcess(identity, signal))
  each('SIGSTOP')
  await sleep(forMs)
  each('SIGCONT')
}

function pauseMs(dice: Dice): number {
  return dice.pick([300, 2_000, 8_000])
}

export const processFaults: readonly Fault[] = [
  local('mysqld is killed', 6, 'kill-mysqld'),
  local('mysqld freezes', 3, 'freeze-mysqld', 'thaw-mysqld'),
  local('an agent is killed', 3, 'kill-agent', 'start'),
  local('an agent freezes', 3, 'freeze-agent', 'thaw-agent'),
  local('a machine is gone', 5, 'kill', 'start'),
  {
    name: 'an agent crashes again and again',
    weight: 3,
    async strike(scene) {
      const [target, times] = [anyone(scene), scene.dice.between(1, 4)]
      for (let time = 0; time < times; time += 1) await crashAgent(scene.cluster, target)
      return { did: `the agent of ${target} was killed and started ${times} times` }
    },
  },
  {
    // What a stop acknowledged is known to its agent alone until a marker proves it: docs/why/safety.md, "What is not
    // covered".
    name: 'a stranger ends mysqld',
    weight: 3,
    alone: true,
    async strike(scene) {
      const target = anyone(scene)
      const { pid } = await scene.cluster.instance(target)
      if (pid === null) throw new Error(`mysqld of ${target} does not run`)
      process.kill(pid, 'SIGTERM')
      return { did: `SIGTERM to mysqld of ${target}` }
    },
  },
  {
    name: 'the manager is killed',
    weight: 3,
    async strike({ cluster }) {
      await cluster.replaceManager()
      return { did: 'the manager was killed and another one started' }
    },
  },
  {
    name: 'the manager freezes',
    weight: 2,
    async strike({ cluster }) {
      await cluster.signalManager('SIGSTOP')
      return { did: 'SIGSTOP to the manager', heal: () => cluster.signalManager('SIGCONT') }
    },
  },
  {
    name: 'agents and manager pause',
    weight: 2,
    async strike(scene) {
      const forMs = pauseMs(scene.dice)
      await pauseRegent(scene, forMs)
      return { did: `agents, manager and supervisor of all paused for ${forMs} ms` }
    },
  },
  {
    name: 'a volume is lost',
    weight: 1,
    alone: true,
    leastInstances: 3,
    async strike(scene) {
      const target = scene.mode === 'async' ? replica(scene) : anyone(scene)
      await loseVolume(scene.cluster, target)
      return { did: `the volume of ${target} is gone`, heal: () => ended(scene.cluster, target, 'start') }
    },
  },
]
