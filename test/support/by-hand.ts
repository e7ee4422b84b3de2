import type { TestCluster } from './cluster.ts'

/** Runs statements as a person with all rights would. */
export async function byHand(cluster: TestCluster, instance: string, ...statements: readonly string[]): Promise<void> {
  const session = await cluster.session(instance)
  try {
    for (const statement of statements) await session.query(statement)
  } finally {
    session.destroy()
  }
}
