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

/** The agent puts right what somebody opened or stopped, within milliseconds: a hand that it overtakes tries again. */
export async function byQuickHand(
  cluster: TestCluster,
  instance: string,
  ...statements: readonly string[]
): Promise<void> {
  const tried = () =>
    byHand(cluster, instance, ...statements).then(
      () => true,
      () => false,
    )
  await cluster.until(`a hand changes ${instance}`, tried)
}
