import { readdir } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { RegentError } from '#common/errors/errors.ts'
import { type Sentence, say } from '#common/sentence/sentence.ts'
import { readClusterIfThere, type LocalCluster } from '../folder/cluster-file.ts'
import { clusterNameOf, clusterProcesses } from '../processes/cluster-processes.ts'
import { replaceJson } from '../files/durable-file.ts'
import { refuseNewer } from '../files/file-version.ts'
import { readJsonIfThere } from '../files/input-file.ts'
import { checkClusterName } from '../folder/names.ts'
import { stateHome } from '../folder/state-layout.ts'

const indexVersion = 1
const indexSchema = Type.Object({ version: Type.Literal(1), folders: Type.Record(Type.String(), Type.String()) })

export interface FoundCluster {
  readonly dir: string
  readonly cluster: LocalCluster
}

/**
 * The folder of a cluster: where --data put it, else its name below the state home. Where no cluster is there, the one
 * folder in which the cluster of that name lies: somebody moved that.
 */
export async function folderOf(name: string, home = stateHome()): Promise<string> {
  const usual = (await readIndex(home)).get(checkClusterName(name)) ?? join(home, name)
  // A damaged one is there.
  if ((await readClusterIfThere(usual).catch(() => 'damaged')) !== undefined) return usual
  const [only, ...others] = (await allClusters(() => undefined, home)).filter(({ cluster }) => cluster.name === name)
  return only === undefined || others.length > 0 ? usual : only.dir
}

/** Remembers where --data put a cluster; undefined forgets it. */
export async function rememberFolder(name: string, dir: string | undefined, home = stateHome()): Promise<void> {
  const folders = new Map(await readIndex(home))
  if (folders.get(name) === dir) return
  folders.delete(name)
  if (dir !== undefined) folders.set(name, dir)
  await replaceJson(indexPath(home), { version: indexVersion, folders: Object.fromEntries(folders) })
}

/**
 * Every local cluster there is, by name. A folder whose description cannot be read, or an index that cannot, is told to
 * `unreadable`.
 */
export async function allClusters(
  unreadable: (dir: string, error: unknown) => void,
  home = stateHome(),
): Promise<readonly FoundCluster[]> {
  const index = await readIndex(home).catch((error: unknown) => {
    unreadable(indexPath(home), error)
    return new Map<string, string>()
  })
  const dirs = new Set([...(await foldersIn(home)), ...index.values()])
  const found = await Promise.all([...dirs].map((dir) => readQuietly(dir, unreadable)))
  return found
    .filter((entry) => entry !== undefined)
    .sort((one, other) => one.cluster.name.localeCompare(other.cluster.name))
}

/**
 * The named cluster, or the only one where no name is given. Throws `REGENT_NOT_FOUND`, listing what there is.
 */
export async function findCluster(name: string | undefined, home = stateHome()): Promise<FoundCluster> {
  if (name !== undefined) {
    const dir = await folderOf(name, home)
    const cluster = await readClusterIfThere(dir)
    if (cluster !== undefined) return { dir, cluster }
  }
  const all = await allClusters(() => undefined, home)
  const [only] = all
  if (name === undefined && only !== undefined && all.length === 1) return only
  const known = await Promise.all(all.map((found) => wordFor(found, home)))
  throw new RegentError('REGENT_NOT_FOUND', notFound(name, known), known.length === 0 ? { remedy: '' } : {})
}

/** What a command is given to mean this cluster: of a copy, which has the name of another, the folder's own name. */
async function wordFor({ dir, cluster: { name } }: FoundCluster, home: string): Promise<string> {
  return (await folderOf(name, home)) === dir ? name : basename(dir)
}

/** A cluster whose folder, or its description in it, was removed while its processes run. */
export interface OrphanedCluster {
  readonly name: string
  readonly dir: string
  readonly processes: number
}

/** Orphaned clusters whose folder is, or would be, among the clusters of `home`. */
export async function orphanedClusters(home = stateHome()): Promise<readonly OrphanedCluster[]> {
  const index = [...(await readIndex(home).catch(() => new Map<string, string>())).values()]
  const byFolder = Map.groupBy(await clusterProcesses(), ({ dir }) => dir)
  const orphans = [...byFolder].map(async ([dir, processes]) => {
    const isOurs = dirname(dir) === resolve(home) || index.includes(dir)
    if (!isOurs || (await readClusterIfThere(dir).catch(() => 'damaged')) !== undefined) return []
    return [{ name: clusterNameOf(processes, dir), dir, processes: processes.length }]
  })
  return (await Promise.all(orphans)).flat()
}

function notFound(name: string | undefined, known: readonly string[]): Sentence {
  if (known.length === 0)
    return say`there is no local cluster${name === undefined ? '' : say` "${name}"`}; "regent local up" makes one`
  if (name === undefined) return say`there are several local clusters, so name one of them: ${known.join(', ')}`
  return say`there is no local cluster "${name}"; there is: ${known.join(', ')}`
}

async function readQuietly(
  dir: string,
  unreadable: (dir: string, error: unknown) => void,
): Promise<FoundCluster | undefined> {
  try {
    const cluster = await readClusterIfThere(dir)
    return cluster && { dir, cluster }
  } catch (error) {
    unreadable(dir, error)
    return undefined
  }
}

async function foldersIn(home: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(home, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map((entry) => join(home, entry.name))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

/** Folders by the names of clusters: a map, since a cluster may be called `constructor`. */
async function readIndex(home: string): Promise<ReadonlyMap<string, string>> {
  const path = indexPath(home)
  const value = await readJsonIfThere(path, say`the index of local clusters`)
  if (value === undefined) return new Map()
  refuseNewer(path, value, indexVersion)
  if (!Value.Check(indexSchema, value))
    throw new RegentError(
      'REGENT_BAD_FILE',
      say`${path} is damaged; it maps names of clusters to folders. Delete it and give --data again`,
    )
  return new Map(Object.entries(value.folders))
}

function indexPath(home: string): string {
  return join(home, 'index.json')
}
