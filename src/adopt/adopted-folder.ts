import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { randomBytes } from 'node:crypto'
import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { replaceFile, replaceJson } from '#local/files/durable-file.ts'
import { isMissing, readJsonIfThere, readText } from '#local/files/input-file.ts'
import { allClusters } from '#local/clusters/cluster-index.ts'
import { checkClusterName } from '#local/folder/names.ts'
import { stateHome } from '#local/folder/state-layout.ts'
import { readAdoption, type Adoption } from './adoption.ts'

/** Where everything of adopted clusters lies: no cluster of this machine can have that name. */
export interface AdoptedFolder {
  readonly dir: string
  readonly clusters: string
  readonly secrets: string
  readonly apiToken: string
  readonly timelines: string
  /** What people say of clusters. */
  readonly notes: string
  /** What was begun with servers, and is not done. */
  readonly trees: string
  /** How orchestrator’s interface is served. */
  readonly orchestrator: string
  readonly log: string
  readonly manager: string
}

export function adoptedFolder(home = stateHome()): AdoptedFolder {
  const dir = join(home, '_adopted')
  return {
    dir,
    clusters: join(dir, 'clusters'),
    secrets: join(dir, 'secrets'),
    apiToken: join(dir, 'secrets', 'api-token'),
    timelines: join(dir, 'timelines'),
    notes: join(dir, 'notes'),
    trees: join(dir, 'trees'),
    orchestrator: join(dir, 'orchestrator.json'),
    log: join(dir, 'manager.log'),
    manager: join(dir, 'manager.json'),
  }
}

const managerSchema = Type.Object({
  version: Type.Literal(1),
  host: Type.String({ minLength: 1 }),
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  pid: Type.Integer({ minimum: 1 }),
  startTicks: Type.Integer({ minimum: 0 }),
})

/** The manager that watches: where it listens, and which process it is. */
export type AdoptedManager = Static<typeof managerSchema>

export async function readManager(folder: AdoptedFolder): Promise<AdoptedManager | undefined> {
  const value = await readJsonIfThere(folder.manager, say`the note of the manager that watches`)
  return Value.Check(managerSchema, value) ? value : undefined
}

export async function writeManager(folder: AdoptedFolder, manager: AdoptedManager): Promise<void> {
  await replaceJson(folder.manager, manager)
}

/** Makes the folders where they are missing, and the token of the API. */
export async function prepareFolder(folder: AdoptedFolder): Promise<void> {
  for (const dir of [folder.dir, folder.clusters, folder.secrets, folder.timelines])
    await mkdir(dir, { recursive: true, mode: 0o700 })
  const token = await stat(folder.apiToken).catch(() => undefined)
  if (token === undefined) await replaceFile(folder.apiToken, `${randomBytes(32).toString('hex')}\n`)
}

/** What is adopted, each with the version of its file: another version is another content. */
export async function adoptedFiles(folder: AdoptedFolder): Promise<ReadonlyMap<string, string>> {
  const names = await readdir(folder.clusters).catch((error: unknown) => {
    if (isMissing(error)) return []
    throw error
  })
  const files = names.filter((name) => name.endsWith('.json')).map((name) => join(folder.clusters, name))
  const versions = await Promise.all(files.map(async (file) => [file, `${(await stat(file)).mtimeMs}`] as const))
  return new Map(versions)
}

function adoptionPath(folder: AdoptedFolder, cluster: string): string {
  return join(folder.clusters, `${checkClusterName(cluster)}.json`)
}

/** The cluster that a file of `adoptedFiles` describes. */
export function clusterIn(file: string): string {
  return basename(file, '.json')
}

/**
 * A cluster has one keeper: while agents of this machine manage it, nobody watches it. A cluster whose description
 * cannot be read may be managed.
 */
export async function managedNames(): Promise<ReadonlySet<string>> {
  const names = new Set<string>()
  const found = await allClusters((dir) => names.add(basename(dir)))
  for (const { cluster } of found) if (cluster.far === true) names.add(cluster.name)
  return names
}

/** No new adoption can have these: of what is adopted, watched or not, and of every cluster of this machine. */
export async function takenNames(folder: AdoptedFolder): Promise<ReadonlySet<string>> {
  const names = new Set([...(await adoptedFiles(folder)).keys()].map(clusterIn))
  const found = await allClusters((dir) => names.add(basename(dir)))
  for (const { cluster } of found) names.add(cluster.name)
  return names
}

/** Files of `adoptedFiles` whose clusters are not managed. */
export async function watchedFiles(folder: AdoptedFolder): Promise<ReadonlyMap<string, string>> {
  const [files, managed] = await Promise.all([adoptedFiles(folder), managedNames()])
  return new Map([...files].filter(([file]) => !managed.has(clusterIn(file))))
}

/** All of them by name. Throws where one of the files was changed to something that cannot be read. */
export async function allAdopted(folder: AdoptedFolder): Promise<readonly Adoption[]> {
  const all = await Promise.all([...(await adoptedFiles(folder)).keys()].map((file) => readAdoption(file)))
  return all.toSorted((one, other) => one.cluster.localeCompare(other.cluster))
}

/** From the next look at the folder on the manager watches it. */
export async function keepAdoption(folder: AdoptedFolder, adoption: Adoption): Promise<void> {
  await replaceJson(adoptionPath(folder, adoption.cluster), adoption)
}

/** The file of a cluster that was adopted. Throws `REGENT_NOT_FOUND` where none of that name was. */
export async function adoptedPath(folder: AdoptedFolder, cluster: string): Promise<string> {
  const path = adoptionPath(folder, cluster)
  if ((await adoptedFiles(folder)).has(path)) return path
  const names = (await allAdopted(folder)).map((one) => one.cluster)
  throw new RegentError(
    'REGENT_NOT_FOUND',
    say`no cluster ${cluster} was adopted; there is ${names.join(', ') || say`none`}`,
  )
}

/**
 * Throws `REGENT_NOT_FOUND`, listing what there is. The servers are left as they are, also where a change has ended in
 * the middle: whoever adopts them one day decides anew. Passwords stay that another cluster logs in by: one that was
 * discovered has those of the cluster by whose account it was found.
 */
export async function forgetAdoption(folder: AdoptedFolder, cluster: string): Promise<void> {
  const path = await adoptedPath(folder, cluster)
  const own = await readText(path, say`the adoption file`)
  await rm(join(folder.trees, basename(path)), { force: true })
  await rm(path)
  await rm(timelinePath(folder, cluster), { force: true })
  const files = [...(await adoptedFiles(folder)).keys()]
  const others = await Promise.all(files.map((file) => readText(file, say`the adoption file`)))
  const isIn = (text: string, name: string): boolean => text.includes(JSON.stringify(join(folder.secrets, name)))
  for (const name of await readdir(folder.secrets)) {
    const isOwn = name.startsWith(`${cluster}.`) || (isPassword(name) && isIn(own, name))
    if (isOwn && !others.some((text) => isIn(text, name))) await rm(join(folder.secrets, name))
  }
}

function isPassword(name: string): boolean {
  return /\.(mysql|replication)$/.test(name)
}

export function timelinePath(folder: AdoptedFolder, cluster: string): string {
  return join(folder.timelines, `${checkClusterName(cluster)}.json`)
}

/** Keeps a password that was given otherwise than in a file of its own; gives the path. */
export async function keepPassword(folder: AdoptedFolder, name: string, password: string): Promise<string> {
  const path = join(folder.secrets, name)
  await replaceFile(path, `${password}\n`)
  return path
}

/** Every secret as it is now. @returns puts all of them back: for a command that is refused after it kept some */
export async function secretsPutBack(folder: AdoptedFolder): Promise<() => Promise<void>> {
  const namesNow = async (): Promise<readonly string[]> =>
    readdir(folder.secrets).catch((error: unknown) => {
      if (isMissing(error)) return []
      throw error
    })
  const read = async (name: string) => [name, await readText(join(folder.secrets, name), say`a secret`)] as const
  const before = new Map(await Promise.all((await namesNow()).map(read)))
  return async () => {
    for (const name of await namesNow())
      if (!before.has(name)) await rm(join(folder.secrets, name))
      else if ((await read(name))[1] !== before.get(name))
        await replaceFile(join(folder.secrets, name), before.get(name) ?? '')
  }
}
