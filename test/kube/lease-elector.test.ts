import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, it, onTestFinished, vi } from 'vitest'
import { readProcessStat } from '#common/process/process-stat.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { LeaseElector } from '#controller-runtime/leader/lease-elector.ts'
import { leases } from '#controller-runtime/objects/lease.ts'
import { configMaps } from '#controller-runtime/objects/config-map.ts'
import type { CandidateOrders } from './candidate-process.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { onApiServer } from './on-api-server.ts'

const soon = { timeout: 30_000, interval: 20 }
/** Nobody loses this by a busy machine. */
const longTerm = { leaseMs: 600_000, renewDeadlineMs: 500_000 }
/** Another one is to follow while the test waits, and not by a moment in which the machine is busy. */
const shortTerm = { leaseMs: 10_000, renewDeadlineMs: 8_000 }

onApiServer('Leader election', (api) => {
  const leaseNow = async () => (await api.client.get(leases, { namespace: api.namespace, name: 'manager' }))?.spec

  /** A process that competes, and while it leads writes its name into ConfigMap `leader` as fast as it can. */
  function candidate(
    identity: string,
    durations: CandidateOrders['durations'],
  ): { readonly child: ChildProcess; readonly said: string[] } {
    const child = fork(join(import.meta.dirname, 'candidate-process.ts'), {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      execArgv: [],
    })
    const said: string[] = []
    child.on('message', (word) => void said.push(word as string))
    child.send({ access: api.access, namespace: api.namespace, identity, durations } satisfies CandidateOrders)
    onTestFinished(async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    })
    return { child, said }
  }

  /** Who wrote, in order, each named once for each turn, and every write with when it was begun. */
  async function turns(): Promise<{
    readonly names: string[]
    readonly writes: { readonly by: string; readonly atMs: number }[]
    readonly stop: () => Promise<void>
  }> {
    const made = await api.client.create(configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'leader', namespace: api.namespace },
    })
    const names: string[] = []
    const writes: { readonly by: string; readonly atMs: number }[] = []
    const over = new AbortController()
    onTestFinished(() => over.abort())
    const watching = (async () => {
      for await (const event of api.client.watch(configMaps, {
        namespace: api.namespace,
        resourceVersion: made.metadata.resourceVersion ?? '',
        timeoutSeconds: 120,
        signal: over.signal,
      })) {
        const { by, at } =
          (event.type === 'MODIFIED' && event.object.metadata.name === 'leader' ? event.object.data : undefined) ?? {}
        if (by === undefined) continue
        writes.push({ by, atMs: Number(at) })
        if (names.at(-1) !== by) names.push(by)
      }
    })().catch((error: unknown) => (over.signal.aborted ? undefined : Promise.reject(error as Error)))
    return { names, writes, stop: async () => (over.abort(), watching) }
  }

  it('among processes that begin at once has one leader, and the next at once when that one ends in order', async () => {
    const { names, stop } = await turns()
    const all = ['a', 'b', 'c'].map((identity) => ({ identity, ...candidate(identity, longTerm) }))
    const led = () => all.filter(({ said }) => said.includes('leads')).length
    await vi.waitFor(() => expect(led()).toBe(1), soon)
    await vi.waitFor(() => expect(names).toHaveLength(1), soon)
    await realWorld.timers.sleep(1_500)
    const [leader] = all.filter(({ said }) => said.includes('leads'))
    expect(names).toEqual([leader?.identity])
    leader?.child.kill('SIGTERM')
    await vi.waitFor(() => expect(led()).toBe(2), soon)
    expect(leader?.said).toEqual(['leads', 'stopped'])
    await vi.waitFor(() => expect(names).toHaveLength(2), soon)
    expect((await leaseNow())?.leaseTransitions).toBe(1)
    await stop()
  })

  it('replaces a leader that is frozen, and one that thaws begins no write any more', async () => {
    const { names, writes, stop } = await turns()
    const frozen = candidate('frozen', shortTerm)
    await vi.waitFor(() => expect(names).toEqual(['frozen']), soon)
    const other = candidate('other', shortTerm)
    frozen.child.kill('SIGSTOP')
    await vi.waitFor(() => expect(readProcessStat(frozen.child.pid ?? 0)?.state).toBe('T'), soon)
    await vi.waitFor(() => expect(other.said).toEqual(['leads']), soon)
    await vi.waitFor(() => expect(names).toEqual(['frozen', 'other']), soon)
    const thawedMs = monotonicMs()
    frozen.child.kill('SIGCONT')
    await vi.waitFor(() => expect(frozen.said).toEqual(['leads', 'lost']), soon)
    await realWorld.timers.sleep(500)
    // One that it had begun when it was frozen nobody can call back.
    expect(writes.filter(({ by, atMs }) => by === 'frozen' && atMs > thawedMs)).toEqual([])
    expect((await leaseNow())?.holderIdentity).toBe('other')
    await stop()
  })

  it('in a namespace that is not there says so, instead of waiting in silence', async () => {
    const lines: string[] = []
    const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
    const durations = { leaseMs: 2_000, renewDeadlineMs: 1_400, retryMs: 100 }
    const elector = new LeaseElector({
      client: api.client,
      lease: { namespace: 'gone', name: 'manager' },
      identity: 'a',
      world: realWorld,
      logger,
      durations,
    })
    const over = new AbortController()
    const running = elector.run(over.signal, () => expect.fail('nobody can lead here'))
    await vi.waitFor(() => expect(lines.length).toBeGreaterThan(0), soon).finally(() => over.abort())
    expect(await running).toBe('stopped')
    expect(lines[0]).toContain('namespaces \\"gone\\" not found')
  })
})
