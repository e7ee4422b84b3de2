import { adoptedFolder, allAdopted, forgetAdoption, managedNames, readManager } from '#adopt/adopted-folder.ts'
import type { ClusterView } from '#api-contract/views.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { fileStore } from '#store/file.ts'
import { isAlive } from '#common/process/process-stat.ts'
import { ApiClient } from '../connection/api-client.ts'
import type { OutputOptions } from '../terminal/common-options.ts'
import type { Io } from '../terminal/io.ts'
import { toJson } from '../terminal/json-output.ts'
import { renderTable } from '../terminal/table.ts'
import { stopWatching } from './background.ts'

/** What was adopted, with how it is where a manager watches. */
export async function listAdopted(io: Io, { output }: OutputOptions): Promise<void> {
  const adopted = await allAdopted(adoptedFolder())
  const views = await currentViews()
  const managed = await managedNames()
  const clusters = adopted.map(({ cluster, hosts }) => {
    const view = views?.find(({ name }) => name === cluster)
    const { primary = null, writable = null, sentence = unwatched(cluster, managed.has(cluster)) } = view ?? {}
    return { name: cluster, servers: hosts.length, primary, writable, sentence }
  })
  if (output === 'json') return io.out(toJson({ clusters }))
  if (clusters.length === 0) return io.out('nothing was adopted; "regent adopt FILE" does')
  const rows = clusters.map(({ name, servers, primary, writable, sentence }) => [
    ...[name, String(servers), primary ?? '–', writable === null ? '–' : writable ? 'yes' : 'no', sentence],
  ])
  for (const line of renderTable(['name', 'servers', 'primary', 'writable', 'what Regent says'], rows)) io.out(line)
}

function unwatched(cluster: string, isOurs: boolean): string {
  return isOurs
    ? `managed from this machine: "regent topology ${cluster}" shows it`
    : 'no manager watches it; "regent adopt start" starts one'
}

async function currentViews(): Promise<readonly ClusterView[] | undefined> {
  const folder = adoptedFolder()
  const manager = await readManager(folder)
  if (manager === undefined || !isAlive(manager)) return undefined
  const url = `http://${manager.host}:${manager.port}`
  const client = await ApiClient.open({ url, tokenFile: folder.apiToken })
  return client.get<readonly ClusterView[]>('/clusters')
}

/** The manager ends with the last cluster. */
export async function removeAdopted(io: Io, name: string, { output }: OutputOptions): Promise<void> {
  const folder = adoptedFolder()
  if ((await managedNames()).has(name))
    throw new RegentError('REGENT_REFUSED', say`${name} is managed, and is removed once it is only watched`, {
      remedy: `Give its servers back first: regent adopt watch ${name}`,
    })
  await forgetAdoption(folder, name)
  await fileStore(folder.notes).forget(name)
  if ((await allAdopted(folder)).length === 0) await stopWatching()
  const sentence = `${name} is watched no more; its servers are as they were`
  io.out(output === 'json' ? toJson({ name, sentence }) : sentence)
}
