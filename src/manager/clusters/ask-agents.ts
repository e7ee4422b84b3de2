import type { AgentView } from '#api-contract/agent-view.ts'
import { describeError } from '#common/errors/errors.ts'
import type { Transport } from '#common/ports/ports.ts'
import { orderVersion } from '#failover/protocol/message.ts'
import { sayWord } from '#failover/protocol/word.ts'
import type { InstanceView } from '#topology/snapshot/snapshot.ts'

/** A person waits. */
const deadlineMs = 2_000

/** Asks all at once. Never rejects: whoever does not answer is in the list with the reason. */
export async function askAgents(
  transport: Transport,
  cluster: string,
  instances: readonly Pick<InstanceView, 'name' | 'agent'>[],
): Promise<readonly AgentView[]> {
  const ask = async ({ name, agent }: Pick<InstanceView, 'name' | 'agent'>): Promise<AgentView> => {
    const silent = (failure: string): AgentView => ({ instance: name, failure, watches: [], facts: [] })
    if (agent === '') return silent('the agent has no address yet')
    try {
      const {
        watches,
        facts = [],
        runs,
      } = await sayWord({ transport, deadlineMs }, agent, 'watches', {
        version: orderVersion,
        cluster,
      })
      return { instance: name, failure: '', watches, facts, ...(runs && { runs }) }
    } catch (error) {
      return silent(describeError(error))
    }
  }
  return Promise.all(instances.map(ask))
}
