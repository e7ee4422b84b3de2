import { expect, it } from 'vitest'
import { operationsOn } from './testing-operations.ts'

const ofReplica = { instance: 'shop-1', dryRun: false }

it('A restart of a replica is begun by its own agent', async () => {
  const { operations, posted, asked } = operationsOn({})
  const { done, sentence } = await operations.perform('restart', ofReplica)
  expect([done, sentence]).toEqual([true, 'shop-1 restarts; regent topology shows how that goes'])
  expect(posted.map(({ path, body }) => [path, body])).toEqual([
    ['/v1/restart', expect.objectContaining({ cluster: 'shop', member: 'shop-1@volume-1', withinMs: 30_000 })],
  ])
  expect(asked).toEqual([])
})

it('A dry run of a restart says each step, and tells nobody', async () => {
  const { operations, posted, asked } = operationsOn({})
  expect(await operations.perform('restart', { ...ofReplica, dryRun: true })).toMatchObject({
    done: false,
    sentence: 'would restart shop-1',
    plan: [
      'shop-1 leaves those that count for an acknowledgement, or the group',
      'its mysqld stops in order, and starts again',
    ],
  })
  const ofPrimary = await operations.perform('restart', { instance: 'shop-0', dryRun: true })
  expect(ofPrimary.plan?.[0]).toBe('another instance is made primary')
  expect([...posted, ...asked]).toEqual([])
})

it('A primary is restarted only after another one has taken over', async () => {
  const { operations, posted, asked } = operationsOn({}, true, true, async () => undefined)
  await expect(operations.perform('restart', { instance: 'shop-0', dryRun: false })).rejects.toThrow()
  expect(asked).toMatchObject([{ kind: 'switchover', from: 'shop-0' }])
  expect(posted).toEqual([])
})

it('A restart is refused where it could not end: in a cluster that is paused, without an agent, of nobody', async () => {
  const paused = { paused: { reason: 'upgrade', wallMs: 0 } }
  await expect(operationsOn({ notes: paused }).operations.perform('restart', ofReplica)).rejects.toThrow(
    'no restart of shop-1: the cluster is paused (upgrade); regent resume first',
  )
  await expect(
    operationsOn({ views: { 'shop-1': { unheard: true } } }).operations.perform('restart', ofReplica),
  ).rejects.toThrow('no restart of shop-1: its agent does not answer')
  await expect(operationsOn({}).operations.perform('restart', { ...ofReplica, instance: 'shop-9' })).rejects.toThrow(
    'there is no instance shop-9',
  )
})

it('A restart of a server that nothing starts again is refused before anybody takes over, and by a dry run too', async () => {
  for (const dryRun of [true, false]) {
    const { operations, posted, asked } = operationsOn({
      views: { 'shop-0': { reachedBy: 'ssh', startsAgain: false } },
    })
    await expect(operations.perform('restart', { instance: 'shop-0', dryRun })).rejects.toThrow(
      'no restart of shop-0: Regent could stop mysqld at its host, and has no command that starts mysqld there',
    )
    expect([...posted, ...asked]).toEqual([])
  }
})
