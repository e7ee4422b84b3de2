import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ArchiveDescription } from '#agents/binlog/archive.ts'
import { runCommand } from '#common/process/run-command.ts'
import { readCluster } from '#local/folder/cluster-file.ts'
import { logPath } from '#local/folder/state-layout.ts'
import type { TestCluster } from './cluster.ts'

export interface Archive {
  readonly folder: string
  readonly description: ArchiveDescription
}

/** What an instance's agent archived before it cut or destroyed something. */
export async function archivesOf(cluster: TestCluster, instance: string): Promise<readonly Archive[]> {
  const { volume } = await cluster.instance(instance)
  // One that is still being written ends in .partial and has no description yet.
  const names = (await readdir(join(volume, 'archive')).catch(() => [])).filter((name) => !name.endsWith('.partial'))
  return Promise.all(
    names.map(async (name) => {
      const folder = join(volume, 'archive', name)
      return {
        folder,
        description: JSON.parse(await readFile(join(folder, 'description.json'), 'utf8')) as ArchiveDescription,
      }
    }),
  )
}

/** What mysqlbinlog prints of an archive, rows decoded. */
export async function printArchive(cluster: TestCluster, { folder }: Archive): Promise<string> {
  const { mysql } = await readCluster(cluster.layout.dir)
  const files = (await readdir(folder)).filter((name) => name !== 'description.json').sort()
  const printed = await runCommand(
    [
      ...mysql.mysqlbinlog,
      '--no-defaults',
      '--verbose',
      '--base64-output=decode-rows',
      ...files.map((name) => join(folder, name)),
    ],
    { deadlineMs: 60_000 },
  )
  if (!printed.ok) throw new Error(printed.failure)
  return printed.stdout
}

/** The log of an agent (its instance's name), `manager` or `supervisor`, as text. */
export function logOf(cluster: TestCluster, process: string): Promise<string> {
  return readFile(logPath(cluster.layout, process), 'utf8')
}
