import { expect, it } from 'vitest'
import { aSituation } from '#failover/testing.ts'
import { operationsOn } from './testing-operations.ts'

const pausedBy = (by: 'person' | 'resource') => {
  const { notes } = aSituation()
  return operationsOn({ notes: { ...notes, paused: { reason: 'why', wallMs: 0, by } } }).operations
}

it('A pause of a person is ended, and one of the resource by the resource alone, which would pause again', async () => {
  expect(await pausedBy('person').perform('resume', { dryRun: false })).toMatchObject({ sentence: 'resumed' })
  for (const dryRun of [true, false])
    await expect(pausedBy('resource').perform('resume', { dryRun })).rejects.toMatchObject({
      code: 'REGENT_REFUSED',
      message: expect.stringContaining('set spec.paused of MySQLCluster shop to false') as string,
    })
})

it('A pause of the resource stays one where a person asks for a pause: by that of a person a resume would promise too much', async () => {
  const asked = { reason: 'upgrade', dryRun: false }
  expect(await pausedBy('resource').perform('pause', asked)).toMatchObject({
    sentence: 'paused already, by the resource: to end that, set spec.paused of MySQLCluster shop to false',
  })
  expect(await pausedBy('person').perform('pause', asked)).toMatchObject({
    sentence: 'paused: nothing is decided automatically; agents keep what is safe',
  })
})

it('A pause of a person under one of the resource gives way to that one at once, and a resume says so', async () => {
  const { notes: before } = aSituation()
  const paused = { reason: 'why', wallMs: 0, by: 'person' } as const
  const { operations, notes } = operationsOn({ notes: { ...before, paused }, isPausedByResource: true })
  const asked = await operations.perform('resume', { dryRun: true })
  expect(asked.sentence).toMatch(/^would resume, and stay paused by the resource: /)
  expect(notes().paused).toEqual(paused)
  expect((await operations.perform('resume', { dryRun: false })).sentence).toBe(
    'resumed, and still paused by the resource: to end that, set spec.paused of MySQLCluster shop to false',
  )
  expect(notes().paused).toMatchObject({ reason: 'paused in its resource', by: 'resource' })
})

it('What waits for the end of a pause names what ends it', async () => {
  const ofReplica = { instance: 'shop-1', dryRun: true }
  for (const [by, cure] of [
    ['person', 'regent resume first'],
    ['resource', 'set spec.paused of MySQLCluster shop to false first'],
  ] as const)
    for (const wanted of ['restart', 'reseed', 'replace'] as const)
      await expect(pausedBy(by).perform(wanted, { ...ofReplica, acceptLoss: false })).rejects.toThrow(cure)
})
