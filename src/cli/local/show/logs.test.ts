import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { writeCluster, type LocalCluster } from '#local/folder/cluster-file.ts'
import { layoutOf, logPath } from '#local/folder/state-layout.ts'
import { clusterIn, temporaryFolder } from '#local/testing.ts'
import { logs } from './logs.ts'

/** What is printed of a cluster whose processes have written their own names. */
async function printed(
  processes: readonly string[],
  changes: Partial<LocalCluster>,
  words: readonly [string?, string?],
): Promise<readonly string[]> {
  const home = await temporaryFolder()
  vi.stubEnv('REGENT_HOME', home)
  onTestFinished(() => void vi.unstubAllEnvs())
  const dir = join(home, 'shop')
  await writeCluster(dir, clusterIn(dir, changes))
  await mkdir(layoutOf(dir).logs)
  for (const process of processes) await writeFile(logPath(layoutOf(dir), process), `${process}\n`)
  const lines: string[] = []
  const io = {
    env: {},
    out: (line: string) => void lines.push(line),
    note: () => undefined,
    colour: false,
    terminal: false,
    interrupted: () => new AbortController().signal,
  }
  await logs(io, words[0], words[1], { output: 'text', lines: 10 })
  return lines
}

test('the router’s log is one of its cluster’s', async () => {
  const router = { haproxy: ['haproxy'], settings: {} }
  const all = ['manager', 'router', 'shop-0', 'shop-1', 'shop-2', 'supervisor']
  expect((await printed(all, { router }, [])).toSorted()).toEqual(all)
  expect(await printed(all, { router }, ['router'])).toEqual(['router'])
  expect(await printed(all, { router }, ['shop', 'router'])).toEqual(['router'])
  await expect(printed([], {}, ['shop', 'router'])).rejects.toThrow('cluster shop has no process "router"')
})

test('of servers that were adopted one process has all agents, and their log', async () => {
  const all = ['manager', 'remote-agents', 'supervisor']
  expect((await printed(all, { far: true }, [])).toSorted()).toEqual(all)
  expect(await printed(all, { far: true }, ['shop-1'])).toEqual(['remote-agents'])
  expect(await printed(all, { far: true }, ['shop', 'remote-agents'])).toEqual(['remote-agents'])
})
