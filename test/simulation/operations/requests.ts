import type { Operations } from '#manager/clusters/operations/operations.ts'
import { describeError } from '#common/errors/errors.ts'
import type { Machine } from '../machine.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'

/** A person asks the manager that leads, if one does, as through its API. What is refused is refused with a reason. */
export function ask(
  cluster: SimulatedCluster,
  what: string,
  act: (operations: Operations) => Promise<unknown>,
): Promise<void> {
  const manager = cluster.managers.find((one) => one?.loop.leads === true && one.life.runs)
  return new Promise((resolve) => {
    if (manager == null) return resolve()
    const end = (said: string): void => {
      cluster.say(`a person who asked for ${what} hears: ${said}`)
      resolve()
    }
    manager.life.enter(() => {
      const answer = async (): Promise<unknown> => act(manager.operations)
      answer().then(
        () => end('done'),
        (error: unknown) => end(describeError(error)),
      )
    })
  })
}

export function askForSwitchover(cluster: SimulatedCluster, to: Machine, random: SeededRandom): void {
  const wanted = random.chance(0.5) ? to.name : undefined
  void ask(cluster, 'a switchover', (operations) =>
    operations.perform('switchover', { to: wanted, timeoutMs: undefined, reason: 'asked for', dryRun: false }),
  )
}
