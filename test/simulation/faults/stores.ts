import { later, type FaultTable } from './fault.ts'

/** The store is late, silent, out of reach or changed by somebody else; managers may both believe that they lead. */
export const storeFaults: FaultTable = {
  'the store is cut off from a manager': [
    2,
    (cluster, _, random) => {
      const manager = `manager-${random.below(cluster.managers.length)}`
      const [from, to] = random.chance(0.5) ? [manager, 'store'] : ['store', manager]
      cluster.network.cut(from, to)
      later(cluster, random.between(200, 6_000), () => cluster.network.mend())
    },
  ],
  'requests reach the store late': [
    1,
    ({ weather, time }, _, random) => {
      weather.requestsLateMs = random.pick([20, 300, 5_000])
      time.after(random.between(200, 4_000), () => weather.clear())
    },
  ],
  'answers of the store are late or lost': [
    1,
    ({ weather, time }, _, random) => {
      weather.answersLateMs = random.pick([20, 300, 3_000])
      weather.answersLost = random.pick([0, 0.3, 1])
      time.after(random.between(200, 4_000), () => weather.clear())
    },
  ],
  'both managers believe that they lead': [
    2,
    ({ weather, time }, _, random) => {
      weather.everybodyLeads = true
      time.after(random.between(1_000, 6_000), () => weather.clear())
    },
  ],
  'somebody else writes the record': [1, (cluster) => cluster.cells.writeAgain()],
  // In families of its own alone: where it meets what a person decides, nothing is whole in the end.
  'the record is lost': [0, (cluster) => cluster.cells.lose()],
}
