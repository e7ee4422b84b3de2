import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { writeCluster, instancesFor } from '../folder/cluster-file.ts'
import { askSupervisor } from './control.ts'
import { replaceJson } from '../files/durable-file.ts'
import { injectFault } from '../faults/fault.ts'
import { readBook, stoppedProcesses } from '../processes/process-book.ts'
import { isAlive } from '#common/process/process-stat.ts'
import { signalProcess } from '../processes/process-identity.ts'
import { layoutOf, mysqldPidPath, volumeOf } from '../folder/state-layout.ts'
import { Supervisor } from './supervisor.ts'
import { patienceMs } from '#test/support/patience.ts'
import { clusterIn, freeNumber, idleProcess, temporaryFolder } from '../testing.ts'

/** A program in the place of `regent`: it writes down how it was called and waits. */
const standIn = ['/bin/sh', '-c', 'echo "$0 $*"; exec sleep 60']

async function supervised() {
  const dir = await temporaryFolder()
  const layout = layoutOf(dir)
  for (const folder of [layout.run, layout.logs]) await mkdir(folder)
  const cluster = clusterIn(dir, { number: await freeNumber() })
  await writeCluster(dir, cluster)
  const supervisor = await Supervisor.start({ dir, manager: standIn, agent: standIn, log: () => undefined })
  onTestFinished(() => supervisor.shutdown())
  return { dir, layout, cluster, supervisor }
}

describe('the supervisor of a local cluster', () => {
  test('runs the manager and an agent per instance with their files, and writes them down', async () => {
    const { dir, layout } = await supervised()
    const book = await vi.waitUntil(
      async () => Object.keys((await readBook(layout)).processes).length === 4 && readBook(layout),
    )
    if (!book) throw new Error('unreachable')
    expect(Object.keys(book.processes).sort()).toEqual(['manager', 'shop-0', 'shop-1', 'shop-2'])
    expect(book.supervisor?.pid).toBe(process.pid)
    await vi.waitFor(async () => {
      expect(await readFile(join(layout.logs, 'manager.log'), 'utf8')).toBe(`manager --cluster-dir ${dir}\n`)
      expect(await readFile(join(layout.logs, 'shop-1.log'), 'utf8')).toBe(
        `agent --config ${dir}/instances/shop-1/agent.json\n`,
      )
    })
  })

  test('cannot be there twice', async () => {
    const { dir } = await supervised()
    await expect(
      Supervisor.start({ dir, manager: standIn, agent: standIn, log: () => undefined }),
    ).rejects.toMatchObject({ code: 'REGENT_ALREADY_RUNNING' })
  })

  test('starts again what died, and leaves alone what a fault stopped until it is started', async () => {
    const { dir, layout } = await supervised()
    const statusOf = async (name: string) => {
      const reply = await askSupervisor(layout.control, { command: 'status' }, patienceMs)
      return (
        reply?.answer as {
          processes: { name: string; state: string; identity: { pid: number; startTicks: number } | null }[]
        }
      ).processes.find((one) => one.name === name)
    }
    const manager = (await statusOf('manager'))?.identity
    if (manager) signalProcess(manager, 'SIGKILL')
    await injectFault(layout, clusterIn(dir), 'shop-1', 'kill-agent')
    await vi.waitUntil(async () => (await statusOf('shop-1'))?.state === 'stopped')
    await vi.waitUntil(async () => ![undefined, manager?.pid].includes((await statusOf('manager'))?.identity?.pid), {
      timeout: 60_000,
    })
    expect((await statusOf('shop-1'))?.state).toBe('stopped')
    await injectFault(layout, clusterIn(dir), 'shop-1', 'start')
    expect((await statusOf('shop-1'))?.state).toBe('running')
    expect(await stoppedProcesses(layout)).toEqual(new Set())
  })

  test('follows cluster.json: starts the agents of new instances, ends leavers and kills their mysqld', async () => {
    const { dir, layout, cluster } = await supervised()
    const [agent, mysqld] = [
      await vi.waitUntil(async () => (await readBook(layout)).processes['shop-2']),
      idleProcess(),
    ]
    await replaceJson(mysqldPidPath(volumeOf(layout, 'shop-2')), mysqld)
    await writeCluster(dir, { ...cluster, instances: instancesFor(dir, cluster, 2) })
    await askSupervisor(layout.control, { command: 'reload' }, patienceMs)
    expect(isAlive(agent)).toBe(false)
    expect(isAlive(mysqld)).toBe(false)
    await writeCluster(dir, { ...cluster, instances: instancesFor(dir, cluster, 4) })
    await askSupervisor(layout.control, { command: 'reload' }, patienceMs)
    await vi.waitFor(async () =>
      expect(Object.keys((await readBook(layout)).processes)).toEqual(expect.arrayContaining(['shop-2', 'shop-3'])),
    )
  })

  test('follows cluster.json where nobody tells of a change: a manager may have died after it wrote one', async () => {
    const { dir, layout, cluster } = await supervised()
    await writeCluster(dir, { ...cluster, instances: instancesFor(dir, cluster, 4) })
    await vi.waitFor(async () => expect(Object.keys((await readBook(layout)).processes)).toContain('shop-3'), 30_000)
  })

  test('ends manager and agents when it shuts down, and no mysqld', async () => {
    const { layout, supervisor } = await supervised()
    const book = await readBook(layout)
    const mysqld = idleProcess()
    await replaceJson(mysqldPidPath(volumeOf(layout, 'shop-0')), mysqld)
    await askSupervisor(layout.control, { command: 'shutdown' }, patienceMs)
    await supervisor.ended
    for (const identity of Object.values(book.processes)) expect(isAlive(identity)).toBe(false)
    expect(isAlive(mysqld)).toBe(true)
    expect(await askSupervisor(layout.control, { command: 'status' }, patienceMs)).toBeUndefined()
  })

  test('refuses what it does not know, with what there is', async () => {
    const { layout } = await supervised()
    await expect(askSupervisor(layout.control, { command: 'start', process: 'other' }, patienceMs)).rejects.toThrow(
      /no process "other".*shop-0, shop-1, shop-2, manager/,
    )
    await expect(askSupervisor(layout.control, { command: 'explode' } as never, patienceMs)).rejects.toMatchObject({
      code: 'REGENT_BAD_REQUEST',
    })
  })
})
