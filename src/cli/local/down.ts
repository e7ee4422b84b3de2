import { commandLock, purgeCluster, stopCluster } from '../../local/background.ts'
import { findCluster, rememberFolder } from '../../local/cluster-index.ts'
import { withFileLock } from '../../local/file-lock.ts'
import { layoutOf } from '../../local/state-layout.ts'
import type { Io } from '../io.ts'

/** Stops a cluster, and removes it with `purge`. */
export async function down(io: Io, wanted: string | undefined, purge: boolean, output: 'text' | 'json'): Promise<void> {
  const { dir, cluster } = await findCluster(wanted)
  const { name } = cluster
  await withFileLock(await commandLock(), () => io.note('waiting for another regent local command …'), async () => {
    await stopCluster(layoutOf(dir))
    if (!purge) return
    await purgeCluster(layoutOf(dir))
    await rememberFolder(name, undefined)
  })
  if (purge && cluster.store !== 'file') io.note(`the record of ${name} stays in its Redis; a new cluster ${name} with the same store refuses to begin while it is there`)
  const sentence = purge ? `${name} is down and removed` : `${name} is down; its data stays in ${dir}`
  io.out(output === 'json' ? JSON.stringify({ name, dir, purged: purge, sentence }) : sentence)
}
