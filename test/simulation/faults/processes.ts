import { later, restartAgent, type FaultTable } from './fault.ts'

/** Programs and machines die, stand still and are stopped by strangers. */
export const processFaults: FaultTable = {
  'mysqld is killed': [4, (_, machine) => machine.mysqld?.die()],
  'the agent dies': [
    3,
    (cluster, machine, random) => {
      cluster.killAgent(machine)
      restartAgent(cluster, machine, random.between(10, 3_000))
    },
  ],
  'agent and mysqld die': [
    2,
    (cluster, machine, random) => {
      cluster.killAgent(machine)
      machine.mysqld?.die()
      restartAgent(cluster, machine, random.between(10, 5_000))
    },
  ],
  'the machine crashes': [
    3,
    (cluster, machine, random) => {
      cluster.crashMachine(machine)
      restartAgent(cluster, machine, random.between(100, 8_000))
    },
  ],
  'mysqld freezes': [
    2,
    (cluster, { mysqld }, random) => {
      mysqld?.freeze()
      later(cluster, random.between(100, 8_000), () => mysqld?.thaw())
    },
  ],
  'the agent freezes': [
    2,
    (cluster, { agentLife }, random) => {
      agentLife?.freeze()
      later(cluster, random.between(100, 9_000), () => agentLife?.thaw())
    },
  ],
  'the machine is paused': [
    2,
    (cluster, { agentLife, mysqld }, random) => {
      agentLife?.freeze()
      mysqld?.freeze()
      later(cluster, random.between(100, 9_000), () => {
        mysqld?.thaw()
        agentLife?.thaw()
      })
    },
  ],
  'a stranger stops mysqld': [2, (_, machine) => machine.mysqld?.stopInOrder()],
  'a manager dies': [
    3,
    (cluster, _, random) => {
      const index = random.below(cluster.managers.length)
      cluster.killManager(index)
      later(cluster, random.between(50, 4_000), () => cluster.startManager(index))
    },
  ],
  'a manager freezes': [
    2,
    (cluster, _, random) => {
      const life = random.pick(cluster.managers)?.life
      life?.freeze()
      later(cluster, random.between(100, 7_000), () => life?.thaw())
    },
  ],
  'the applier stands still': [
    2,
    (cluster, { mysqld }, random) => {
      if (mysqld === null) return
      mysqld.appliesNothing = true
      later(cluster, random.between(200, 4_000), () => {
        mysqld.appliesNothing = false
        mysqld.apply()
      })
    },
  ],
}
