import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findCluster } from '#local/clusters/cluster-index.ts'
import { instanceFor, runClient } from '#cli/local/sql/mysql-client.ts'
import type { TestCluster } from './cluster.ts'

const parameters = ['--set-gtid-purged=OFF', '--no-tablespaces', "--where=user not like 'regent%'"]

/**
 * Reads a dump of account tables into the primary, as of a server that Regent does not manage: with people's accounts
 * and none of Regent's. It replicates.
 */
export async function replaceAccounts(cluster: TestCluster, primary: string): Promise<void> {
  const found = await findCluster(cluster.name, cluster.home)
  const instance = await instanceFor(found, primary)
  const { output } = await runClient(found, instance, {
    program: 'mysqldump',
    parameters: [...parameters, 'mysql', 'user', 'global_grants'],
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const file = join(cluster.home, 'accounts.sql')
  await writeFile(file, `USE mysql;\n${output}\nFLUSH PRIVILEGES;\n`, { mode: 0o600 })
  const ran = await cluster.regent('local', 'sql', cluster.name, '--on', primary, '--file', file)
  await rm(file)
  if (ran.code !== 0) throw new Error(`regent local sql --file ended with ${ran.code}: ${ran.stderr}`)
}
