import type { Network } from '../network.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { VirtualTime } from '../virtual-time.ts'

/** What members of groups rest on. */
export interface GroupPorts {
  readonly time: VirtualTime
  readonly random: SeededRandom
  readonly network: Network
  /**
   * Of the next transaction of a group, in the block of the member that writes: the first that writes has the first
   * block. No number is given twice, so that whatever is lost shows.
   */
  readonly nextNumber: (group: string, block: number) => number
}
