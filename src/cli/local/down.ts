import { access } from 'node:fs/promises'
import { codeOf, describeError, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { endStrays, purgeCluster, stopCluster, underCommandLock } from '#local/supervisor/background.ts'
import type { LocalCluster } from '#local/folder/cluster-file.ts'
import { findCluster, folderOf, orphanedClusters, rememberFolder } from '#local/clusters/cluster-index.ts'
import { clusterNameOf, processesOf } from '#local/processes/cluster-processes.ts'
import { layoutOf, type StateLayout } from '#local/folder/state-layout.ts'
import { openStore } from '#store/open.ts'
import type { LeadingStore } from '#store/store.ts'
import type { Io } from '../terminal/io.ts'
import { toJson } from '../terminal/json-output.ts'
import { counted } from '#common/text/words.ts'

/** Stops a cluster, and removes it with `purge`. */
export async function down(io: Io, wanted: string | undefined, purge: boolean, output: 'text' | 'json'): Promise<void> {
  const { dir, cluster } = await findCluster(wanted).catch((error: unknown) => withoutDescription(wanted, error))
  if (cluster === undefined) return endOrphans(io, dir, { purge, output })
  const { name } = cluster
  if (purge && cluster.far === true)
    throw notOurs(name, `Give them back: regent adopt watch ${name}. Then forget them: regent adopt remove ${name}`)
  await underCommandLock(
    (words) => io.note(words),
    async () => {
      const layout = layoutOf(dir)
      await stopCluster(layout)
      if (!purge) return
      await forgetRecord(io, layout, cluster)
      await purgeCluster(layout, 'remove')
      await rememberFolder(name, undefined)
    },
  )
  const sentence = purge ? `${name} is down and removed` : `${name} is down; its data stays in ${dir}`
  io.out(output === 'json' ? toJson({ name, dir, purged: purge, sentence }) : sentence)
}

/**
 * The cluster to be ended whose folder or description was removed, or damaged, under its processes; throws `error`
 * where there is none.
 */
async function withoutDescription(
  wanted: string | undefined,
  error: unknown,
): Promise<{ readonly dir: string; readonly cluster: undefined }> {
  if (codeOf(error) === 'REGENT_NOT_FOUND') {
    const orphans = (await orphanedClusters()).filter(({ name }) => wanted === undefined || name === wanted)
    const [only] = orphans
    if (only !== undefined && orphans.length === 1) return { dir: only.dir, cluster: undefined }
  }
  if (wanted !== undefined && (codeOf(error) === 'REGENT_BAD_FILE' || codeOf(error) === 'REGENT_NEWER_VERSION')) {
    const dir = await folderOf(wanted)
    if ((await processesOf(dir)).length > 0) return { dir, cluster: undefined }
  }
  throw error
}

/** What their owner had persisted is known by the folder alone. */
function notOurs(name: string, remedy: string): RegentError {
  const why = say`the servers of ${name} are somebody else’s, and each of their starts would stay closed`
  return new RegentError('REGENT_REFUSED', why, { remedy })
}

async function endOrphans(
  io: Io,
  dir: string,
  { purge, output }: { readonly purge: boolean; readonly output: 'text' | 'json' },
): Promise<void> {
  const processes = await processesOf(dir)
  const name = clusterNameOf(processes, dir)
  const { persistedBefore, cluster } = layoutOf(dir)
  const isNotOurs = await access(persistedBefore).then(
    () => true,
    () => false,
  )
  if (purge && isNotOurs)
    throw notOurs(
      name,
      `End their agents alone: regent local down ${name}. Put ${cluster} back; then give them back: regent adopt watch ${name}`,
    )
  await underCommandLock(
    (words) => io.note(words),
    async () => {
      await endStrays(dir)
      if (purge) await purgeCluster(layoutOf(dir), 'remove')
    },
  )
  const rest = purge
    ? ''
    : `; what is left there is kept, and "regent local down ${name} --purge" would have removed it`
  const sentence = `${counted(processes.length, 'process')} of ${name}, whose description in ${dir} was removed or damaged, ${processes.length === 1 ? 'is' : 'are'} ended${rest}`
  io.out(output === 'json' ? toJson({ name, dir, purged: purge, sentence }) : sentence)
}

/** A manager that was killed leads until its lease ends; one that still does after this long runs. */
const otherManagerMs = 6_000
/** Longer than all that is left to do. */
const purgeMs = 30_000

/**
 * Removes record and notes, as the one that leads: no manager may work on a cluster while it is removed, also none that
 * a person started. Throws `REGENT_REFUSED` while one does. A store that does not answer, or is damaged, must not keep
 * a cluster from being removed.
 */
async function forgetRecord(io: Io, layout: StateLayout, { name, store: url }: LocalCluster): Promise<void> {
  const purger = `purge-${process.pid}`
  const inRedis = url !== 'file'
  try {
    // Whether it would keep what it confirms does not matter any more.
    const store = await openStore(inRedis ? url : layout.records, { allowVolatile: true, leadershipScope: name })
    try {
      await takeLead(store, purger, name)
      await store.forget(name)
      await store.resign(purger)
    } finally {
      await store.close()
    }
  } catch (error) {
    if (error instanceof RegentError && error.code === 'REGENT_REFUSED') throw error
    if (inRedis)
      io.note(
        `the record of ${name} stays in its Redis (${describeError(error)}); a new cluster ${name} with the same ` +
          `store refuses to begin while it is there: DEL "regent:{${name}}:record" "regent:{${name}}:notes" removes ` +
          'it',
      )
  }
}

async function takeLead(store: LeadingStore, purger: string, name: string): Promise<void> {
  const until = performance.now() + otherManagerMs
  while ((await store.lead(purger, purgeMs)) === undefined) {
    if (performance.now() > until)
      throw new RegentError(
        'REGENT_REFUSED',
        say`${name} is down, and not removed: a manager that "regent local up" did not start still leads it; end that one, then purge again`,
        { remedy: '' },
      )
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
