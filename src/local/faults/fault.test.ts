import { describe, expect, test, vi } from 'vitest'
import { isAlive, readProcessStat } from '#common/process/process-stat.ts'
import { replaceJson } from '../files/durable-file.ts'
import { injectFault } from './fault.ts'
import { stoppedProcesses, writeBook } from '../processes/process-book.ts'
import { layoutOf, mysqldPidPath, volumeOf } from '../folder/state-layout.ts'
import { clusterIn, idleProcess, temporaryFolder } from '../testing.ts'

async function broken() {
  const layout = layoutOf(await temporaryFolder())
  const [agent, mysqld] = [idleProcess(), idleProcess()]
  await writeBook(layout, { version: 1, supervisor: null, processes: { 'shop-0': agent } })
  await replaceJson(mysqldPidPath(volumeOf(layout, 'shop-0')), mysqld)
  const cluster = clusterIn(layout.dir)
  return {
    layout,
    agent,
    mysqld,
    inject: (fault: Parameters<typeof injectFault>[3], instance = 'shop-0') =>
      injectFault(layout, cluster, instance, fault),
  }
}

describe('a fault', () => {
  test('kill-mysqld ends mysqld alone', async () => {
    const { agent, mysqld, inject, layout } = await broken()
    expect(await inject('kill-mysqld')).toBe(`killed mysqld of shop-0, pid ${mysqld.pid}`)
    expect([isAlive(mysqld), isAlive(agent)]).toEqual([false, true])
    expect(await stoppedProcesses(layout)).toEqual(new Set())
  })

  test('kill-agent ends the agent alone and marks it as stopped', async () => {
    const { agent, mysqld, inject, layout } = await broken()
    await inject('kill-agent')
    expect([isAlive(mysqld), isAlive(agent)]).toEqual([true, false])
    expect(await stoppedProcesses(layout)).toEqual(new Set(['shop-0']))
  })

  test('kill ends both and marks the instance as stopped, also when nothing runs', async () => {
    const { agent, mysqld, inject, layout } = await broken()
    expect(await inject('kill')).toContain(`killed agent (pid ${agent.pid}) and mysqld (pid ${mysqld.pid}) of shop-0`)
    expect([isAlive(mysqld), isAlive(agent)]).toEqual([false, false])
    expect(await stoppedProcesses(layout)).toEqual(new Set(['shop-0']))
    expect(await inject('kill')).toContain('killed nothing')
  })

  test('freezes and thaws mysqld and agent', async () => {
    const { agent, mysqld, inject } = await broken()
    for (const [what, identity] of [
      ['mysqld', mysqld],
      ['agent', agent],
    ] as const) {
      await inject(`freeze-${what}`)
      await vi.waitFor(async () => expect(readProcessStat(identity.pid)?.state).toBe('T'))
      await inject(`thaw-${what}`)
      await vi.waitFor(async () => expect(readProcessStat(identity.pid)?.state).toBe('S'))
    }
  })

  test('does not believe a pid that another process has now', async () => {
    const { layout, mysqld, inject } = await broken()
    await replaceJson(mysqldPidPath(volumeOf(layout, 'shop-0')), { ...mysqld, startTicks: mysqld.startTicks - 1 })
    await expect(inject('kill-mysqld')).rejects.toThrow('mysqld of shop-0 does not run')
    expect(isAlive(mysqld)).toBe(true)
  })

  test('is refused for an instance that there is not, for a process that does not run, and for a start without supervisor', async () => {
    const { inject } = await broken()
    await expect(inject('kill', 'shop-7')).rejects.toThrow(
      'cluster shop has no instance "shop-7"; it has shop-0, shop-1, shop-2',
    )
    await expect(inject('freeze-agent', 'shop-1')).rejects.toThrow('the agent of shop-1 does not run')
    await expect(inject('start')).rejects.toThrow('no supervisor runs')
  })

  test('is refused where the servers were adopted, and marks nothing', async () => {
    const { layout } = await broken()
    const far = clusterIn(layout.dir, { far: true })
    for (const fault of ['kill', 'start', 'kill-mysqld', 'kill-agent'] as const)
      await expect(injectFault(layout, far, 'shop-0', fault)).rejects.toThrow('the servers of shop were adopted')
    expect(await stoppedProcesses(layout)).toEqual(new Set())
  })
})
