import type { TestCluster } from './cluster.ts'

/**
 * Until it is stopped, each copy that one of these instances gives is killed there.
 * @returns ends that, and gives how many were
 */
export function refuseCopies(cluster: TestCluster, donors: readonly string[]): () => Promise<number> {
  let [stopped, killed] = [false, 0]
  const refusing = donors.map(async (donor) => {
    while (!stopped) {
      const found = await cluster.value(
        donor,
        "select group_concat(id) from information_schema.processlist where command = 'clone'",
      )
      for (const id of found.split(',').filter((one) => /^\d+$/.test(one)))
        // It may have ended by itself.
        await cluster.sql(donor, `kill ${id}`).then(
          () => (killed += 1),
          () => undefined,
        )
    }
  })
  return async () => {
    stopped = true
    await Promise.all(refusing)
    return killed
  }
}
