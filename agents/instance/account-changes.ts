import { learn, type Learner } from './learn.ts'
import type { Parts } from './parts.ts'

/**
 * No account changes under super_read_only: that is off for a moment. Where the server cannot be closed again the agent
 * itself left it open: what this mysqld was made says nothing any more, so that no other hand is blamed for that.
 */
export async function letAccountsChange(
  parts: Learner & Pick<Parts, 'server' | 'observer'>,
  change: () => Promise<unknown>,
): Promise<void> {
  const { server, observer } = parts
  try {
    await server.setReadOnly('accounts')
    await change()
  } finally {
    await server
      .setReadOnly('closed')
      .catch((error: unknown) => {
        learn(parts, { fact: 'unmade', stage: 'following' })
        learn(parts, { fact: 'openedByAgent' })
        throw error
      })
      .finally(() => observer.outdate())
  }
}
