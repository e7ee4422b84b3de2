import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { writeCluster } from '#local/folder/cluster-file.ts'
import { composeSpec, writeSpec } from '#local/folder/spec-file.ts'
import { ensureSecrets } from '#local/folder/secrets.ts'
import { layoutOf } from '#local/folder/state-layout.ts'
import { folderOf } from '#local/clusters/cluster-index.ts'
import { underCommandLock } from '#local/supervisor/background.ts'
import { serveControl } from '#local/supervisor/control.ts'
import { clusterIn, temporaryFolder } from '#local/testing.ts'
import type { Io } from '#cli/terminal/io.ts'
import { up } from './up.ts'

function heard(interrupted = new AbortController().signal): Io & { readonly notes: string[] } {
  const notes: string[] = []
  return {
    notes,
    env: {},
    out: () => undefined,
    note: (line) => void notes.push(line),
    colour: false,
    terminal: false,
    interrupted: () => interrupted,
  }
}

async function home(): Promise<void> {
  vi.stubEnv('REGENT_HOME', await temporaryFolder())
  onTestFinished(() => void vi.unstubAllEnvs())
}

test('Who asks for other settings while another one starts the cluster is refused, as if the other had come long before', async () => {
  await home()
  const dir = await temporaryFolder()
  const cluster = clusterIn(dir)
  await writeSpec(layoutOf(dir), await composeSpec('shop', undefined, {}))
  await writeCluster(dir, cluster)
  const io = heard()
  await mkdir(dirname(layoutOf(dir).control), { recursive: true })
  let second: Promise<unknown> = Promise.resolve()
  await underCommandLock(
    () => undefined,
    async () => {
      second = up(io, 'shop', { output: 'text', data: dir, acks: 2 }).catch((error: unknown) => error)
      await vi.waitFor(() => expect(io.notes).toEqual(['waiting for another regent command …']), 5_000)
      const server = await serveControl(layoutOf(dir).control, async () => ({ processes: [] }))
      onTestFinished(() => void server.close())
    },
  )
  expect(await second).toMatchObject({
    code: 'REGENT_ALREADY_RUNNING',
    message: expect.stringContaining('the default number of acknowledgements, not 2') as string,
  })
})

test('Whoever waits for a cluster that another one starts meanwhile, and is interrupted, ends nothing of that', async () => {
  await home()
  const dir = await temporaryFolder()
  const io = heard(AbortSignal.abort())
  const asked: string[] = []
  let second: Promise<unknown> = Promise.resolve()
  await underCommandLock(
    () => undefined,
    async () => {
      second = up(io, 'shop', { output: 'text', data: dir }).catch((error: unknown) => error)
      await vi.waitFor(() => expect(io.notes).toEqual(['waiting for another regent command …']), 5_000)
      await writeSpec(layoutOf(dir), await composeSpec('shop', undefined, {}))
      await writeCluster(dir, clusterIn(dir))
      await ensureSecrets(layoutOf(dir))
      await mkdir(dirname(layoutOf(dir).control), { recursive: true })
      const server = await serveControl(layoutOf(dir).control, async ({ command }) => {
        asked.push(command)
        return { processes: [] }
      })
      onTestFinished(() => void server.close())
    },
  )
  expect(await second).toMatchObject({ message: 'interrupted' })
  expect(io.notes.join('\n')).toContain('shop goes on in the background')
  expect(asked).not.toContain('shutdown')
})

test('A copy of a cluster’s folder is not brought up in the place of the original', async () => {
  await home()
  const [usual, copy] = [await folderOf('shop'), await temporaryFolder()]
  for (const dir of [usual, copy]) await writeCluster(dir, clusterIn(dir))
  await expect(up(heard(), 'shop', { output: 'text', data: copy })).rejects.toThrow(
    `the cluster shop lives in ${usual}`,
  )
})

test('How orchestrator’s interface calls servers is not taken in silence where nobody is answered', async () => {
  await home()
  await expect(
    up(heard(), 'shop', { output: 'text', data: await temporaryFolder(), orchestratorHosts: 'name' }),
  ).rejects.toThrow('say where orchestrator’s interface is served: --orchestrator-port')
})
