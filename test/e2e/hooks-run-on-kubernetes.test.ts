import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { ModeName } from '#failover/protocol/mode-name.ts'
import type { Recovery } from '#failover/protocol/notes.ts'
import { manager } from '#kube/names/manager-names.ts'
import { pods } from '#kube/pods/stateful-set.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { Writer } from '../support/writer.ts'
import { HookReceiver, isSigned, type Answer } from './hook-receiver.ts'
import { found, type KubeCluster } from './kube-cluster.ts'
import { ownAddress } from './own-address.ts'
import { isOwnCluster, kube } from './own-cluster.ts'
import { expectNothingLost, outageSince, withKubeCluster } from './with-kube-cluster.ts'

const secret = 'a-secret-of-the-receiver'
const modes: readonly ModeName[] = ['semisync', 'group']

/** Pods of managers reach the control plane's network, in which this listens. */
describe.skipIf(!isOwnCluster).each(modes)('Hooks of a cluster in mode %s', (mode) => {
  const name = `hooked-${mode}`
  let receiver: HookReceiver
  const hooked = withKubeCluster({ name, spec: { mode } })
  const calm = { timeoutMs: 120_000 }

  beforeAll(async () => {
    receiver = await HookReceiver.start(ownAddress())
    const cluster = hooked.current
    await cluster.kubectl('create', 'secret', 'generic', 'hook', `--from-literal=key=${secret}`)
    const tells = { command: receiver.command, ...calm }
    const posts = { webhook: { url: receiver.url, secretRef: { name: 'hook', key: 'key' } } }
    await cluster.change({
      hooks: {
        detected: [posts],
        beforeFailover: [tells],
        afterFailover: [tells, posts],
        beforeSwitchover: [{ ...tells, onFailure: 'stop' }],
        afterSwitchover: [tells, posts],
        failed: [posts],
      },
    })
  })
  beforeEach(async () => {
    const cluster = hooked.current
    await cluster.kubectl('--namespace', manager.namespace, 'rollout', 'status', 'deployment/regent')
    await cluster.whole()
    receiver.clear()
  }, 400_000)
  afterAll(() => receiver.end())

  it('a switchover runs each once: a command in the pod of the leading manager, and a webhook that is signed', async () => {
    const cluster = hooked.current
    const [from, leader, { epoch }] = [await cluster.primary(), await cluster.leader(), await cluster.view()]
    await cluster.regent('switchover', name)
    const recovery = await allEnded(cluster, 'switchover', epoch)
    const to = await cluster.primary()
    expect(statesOf(recovery)).toEqual([
      'beforeSwitchover succeeded',
      'afterSwitchover succeeded',
      'afterSwitchover succeeded',
    ])
    expect(receiver.called).toEqual(['beforeSwitchover', 'afterSwitchover'])
    expect(receiver.posted).toEqual(['afterSwitchover'])

    const [before, after] = receiver.calls
    const [failed, successor] = [await placeOf(cluster, from), await placeOf(cluster, to)]
    expect(before?.told).toMatchObject({
      ...{ version: 1, test: false, moment: 'beforeSwitchover', key: `${recovery.id}.beforeSwitchover.0` },
      ...{ cluster: name, namespace: name, mode, automatic: false, failed, successor, manager: leader },
      recovery: { id: recovery.id, kind: 'switchover', outcome: 'running', fromEpoch: epoch },
    })
    expect(after?.told).toMatchObject({
      ...{ moment: 'afterSwitchover', key: `${recovery.id}.afterSwitchover.0`, failed, successor },
      recovery: { id: recovery.id, outcome: 'succeeded', toEpoch: recovery.toEpoch },
      lostReplicas: [],
    })
    expect(after?.told.replicas).toHaveLength(1)
    expect(after?.words).toEqual([failed.host, to, 'DeadMaster'])
    expect(after?.environment).toEqual({
      REGENT_KEY: `${recovery.id}.afterSwitchover.0`,
      REGENT_MOMENT: 'afterSwitchover',
      REGENT_NAMESPACE: name,
      REGENT_SUCCESSOR_HOST: successor.host,
      ORC_SUCCESSOR_ALIAS: to,
    })
    const [letter] = receiver.letters
    expect(letter?.headers['idempotency-key']).toBe(`${recovery.id}.afterSwitchover.1`)
    expect(isSigned(found(letter, 'a letter'), secret)).toBe(true)
    expect(letter?.told.text).toContain(`${name}/${name}: switchover from ${from} to ${to} succeeded`)
    await cluster.until(
      () => 'an Event of each hook',
      async () => (await eventsOf(cluster, 'HookRan')).length >= 3,
    )
    expect((await eventsOf(cluster, 'HookRan')).join('\n')).toContain('hook bash of beforeSwitchover succeeded')
  })

  it('a failover runs each once, and goes on where one of them fails; a webhook that is refused is sent again', async () => {
    const cluster = hooked.current
    const writer = await Writer.start(cluster)
    const [from, { epoch }] = [await cluster.primary(), await cluster.view()]
    receiver.answers.set('beforeFailover', { code: 3, words: 'no such address' })
    receiver.refusals = 1
    const atMs = monotonicMs()
    await cluster.killContainer(from)
    const recovery = await allEnded(cluster, 'failover', epoch)
    await outageSince(writer, `${mode}: mysqld killed, a hook before that`, atMs)
    const to = await cluster.primary()
    // What waits for nothing may be written down later than what the failover waits for.
    expect(statesOf(recovery).toSorted()).toEqual([
      'afterFailover succeeded',
      'afterFailover succeeded',
      'beforeFailover failed',
      'detected succeeded',
    ])
    expect(receiver.called).toEqual(['beforeFailover', 'afterFailover'])
    expect(receiver.posted.toSorted()).toEqual(['afterFailover', 'detected'])
    const [refused] = receiver.letters
    const taken = receiver.letters.find(({ body, status }) => body === refused?.body && status === 204)
    expect(refused?.status).toBe(503)
    expect(taken?.headers['idempotency-key']).toBe(refused?.headers['idempotency-key'])
    const detected = receiver.letters.find(({ told }) => told.moment === 'detected')
    expect(detected?.headers['idempotency-key']).toBe(`${recovery.id}.detected.0`)
    expect(detected?.told).toMatchObject({ automatic: true, failed: { instance: from } })
    expect(receiver.calls[1]?.told).toMatchObject({
      ...{ failed: { instance: from }, successor: await placeOf(cluster, to) },
      recovery: { id: recovery.id, kind: 'failover', outcome: 'succeeded', failureType: 'DeadPrimary' },
    })
    await cluster.until(
      () => 'an Event of the hook that failed',
      async () => (await eventsOf(cluster, 'HookFailed')).join('\n').includes('exit 3: no such address'),
    )
    await cluster.whole()
    await expectNothingLost(writer)
  })

  it('one that fails before a switchover and is to stop that stops it: the person is told why, and nothing changed', async () => {
    const cluster = hooked.current
    const [from, { epoch }] = [await cluster.primary(), await cluster.view()]
    receiver.answers.set('beforeSwitchover', { code: 3, words: 'not today' })
    await expect(cluster.regent('switchover', name)).rejects.toThrow('hook bash stopped it: exit 3: not today')
    const recovery = await allEnded(cluster, 'switchover', epoch)
    expect(recovery.outcome).toBe('undone')
    expect(statesOf(recovery)).toEqual(['beforeSwitchover failed', 'failed succeeded'])
    expect(receiver.posted).toEqual(['failed'])
    expect(await cluster.view()).toMatchObject({ primary: from, epoch })
  })

  it('the pod of the leading manager is deleted while a command runs after a switchover: that is not run again, and the webhook after it runs once', async () => {
    const cluster = hooked.current
    const [leader, { epoch }] = [await cluster.leader(), await cluster.view()]
    const { hang, release } = hanging()
    receiver.answers.set('afterSwitchover', hang)
    try {
      await cluster.regent('switchover', name)
      await begun(cluster, 'afterSwitchover')
      await cluster.kubectl('--namespace', manager.namespace, 'delete', 'pod', leader, '--wait=false')
      const recovery = await allEnded(cluster, 'switchover', epoch)
      expect(statesOf(recovery)).toEqual([
        'beforeSwitchover succeeded',
        'afterSwitchover unknown',
        'afterSwitchover succeeded',
      ])
      await receiver.calls[1]?.gone
      expect(receiver.called).toEqual(['beforeSwitchover', 'afterSwitchover'])
      expect(receiver.posted).toEqual(['afterSwitchover'])
      expect(receiver.letters[0]?.told.manager).not.toBe(leader)
      expect(recovery.timeline.map(({ what }) => what).join('\n')).toContain('begun by a manager that is gone')
    } finally {
      release()
    }
  })

  it('the pod of the leading manager is deleted by force while a command runs before a failover: the other manager fails over, and runs what is left', async () => {
    const cluster = hooked.current
    const node = await freeOfManagers(cluster)
    const [{ epoch }, leader] = [await cluster.view(), await cluster.leader()]
    const writer = await Writer.start(cluster)
    const { hang, release } = hanging()
    receiver.clear()
    receiver.answers.set('beforeFailover', hang)
    const atMs = monotonicMs()
    await kube('cut', node)
    try {
      await begun(cluster, 'beforeFailover')
      const force = ['--force', '--grace-period', '0', '--wait=false']
      await cluster.kubectl('--namespace', manager.namespace, 'delete', 'pod', leader, ...force)
      const recovery = await allEnded(cluster, 'failover', epoch)
      await outageSince(writer, `${mode}: node cut, the leading manager deleted in a hook before the failover`, atMs)
      expect(recovery.outcome).toBe('succeeded')
      expect(statesOf(recovery).toSorted()).toEqual([
        'afterFailover succeeded',
        'afterFailover succeeded',
        'beforeFailover unknown',
        // Ended well, and perhaps nobody had written that down yet.
        expect.stringMatching(/^detected (succeeded|unknown)$/),
      ])
      expect(receiver.called).toEqual(['beforeFailover', 'afterFailover'])
      expect(receiver.posted.toSorted()).toEqual(['afterFailover', 'detected'])
    } finally {
      release()
      await kube('mend', node)
    }
    await cluster.whole(3, 240_000)
    await expectNothingLost(writer)
  })

  function begun(cluster: KubeCluster, moment: string): Promise<unknown> {
    return cluster.until(
      () => `a hook of ${moment}`,
      async () => receiver.called.includes(moment),
    )
  }
})

/** A command that does not end before somebody lets it. */
function hanging(): { readonly hang: Promise<Answer>; readonly release: () => void } {
  const { promise, resolve } = Promise.withResolvers<Answer>()
  return { hang: promise, release: () => resolve({ code: 0, words: 'late' }) }
}

async function placeOf(cluster: KubeCluster, instance: string) {
  const { status } = await cluster.pod(instance)
  return { instance, host: found(status?.podIP, `an address of ${instance}`), port: 3306 }
}

/** The newest change of primary of that kind from that epoch, once it has ended, and all of its hooks. */
function allEnded(cluster: KubeCluster, kind: Recovery['kind'], fromEpoch: number): Promise<Recovery> {
  let last: Recovery | undefined
  return cluster.until(
    () => `the end of the hooks of a ${kind}; ${JSON.stringify(last?.hooks)}`,
    async () => {
      last = (await cluster.recoveries()).find((one) => one.kind === kind && one.fromEpoch === fromEpoch)
      const states = (last?.hooks?.runs ?? []).map(({ state }) => state)
      const isOver = states.length > 0 && states.every((state) => state !== 'due' && state !== 'running')
      return isOver && last?.outcome !== 'running' && hasFollowing(last) && last
    },
  )
}

/** What runs after the end is written down a moment after the end. */
function hasFollowing(recovery: Recovery | undefined): boolean {
  const moments = (recovery?.hooks?.runs ?? []).map(({ moment }) => moment)
  return moments.some((moment) => moment.startsWith('after') || moment === 'failed')
}

function statesOf({ hooks }: Recovery): readonly string[] {
  return (hooks?.runs ?? []).map(({ moment, state }) => `${moment} ${state}`)
}

async function eventsOf(cluster: KubeCluster, reason: string): Promise<readonly string[]> {
  const path = 'jsonpath={range .items[*]}{.message}{"\\n"}{end}'
  const text = await cluster.kubectl('get', 'events', '--field-selector', `reason=${reason}`, '--output', path)
  return text.split('\n').filter((line) => line !== '')
}

/** Has an instance lead whose node has no manager, and gives that node. */
async function freeOfManagers(cluster: KubeCluster): Promise<string> {
  const labelSelector = 'app.kubernetes.io/name=regent'
  const managers = (await cluster.client.list(pods, { namespace: manager.namespace, labelSelector })).items
  const taken = managers.map(({ spec }) => spec?.nodeName)
  const names = [await cluster.primary(), ...(await cluster.replicas())]
  const nodes = await Promise.all(names.map((one) => cluster.nodeOf(one)))
  const at = nodes.findIndex((node) => !taken.includes(node))
  if (at > 0) {
    const { epoch } = await cluster.view()
    await cluster.handOver(found(names[at], 'an instance away from managers'))
    await allEnded(cluster, 'switchover', epoch)
  }
  await cluster.whole()
  return found(nodes[at], 'a node without managers')
}
