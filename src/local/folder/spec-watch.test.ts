import { rm } from 'node:fs/promises'
import { expect, test } from 'vitest'
import type { ClusterSpec } from '#failover/protocol/spec.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { temporaryFolder } from '../testing.ts'
import { composeSpec, writeSpec } from './spec-file.ts'
import { watchSpec } from './spec-watch.ts'
import { layoutOf } from './state-layout.ts'

test('A spec that is changed while it is watched is told once, and one that is gone is said', async () => {
  const layout = layoutOf(await temporaryFolder())
  const known = await composeSpec('shop', undefined, { mode: 'group' })
  await writeSpec(layout, known)
  const told: ClusterSpec[] = []
  const failures: string[] = []
  const looks: (() => void)[] = []
  const watch = watchSpec(layout, 'shop', {
    world: {
      ...realWorld,
      timers: { ...realWorld.timers, every: (_, look) => (looks.push(look), { cancel: () => undefined }) },
    },
    known,
    changed: (spec) => void told.push(spec),
    failed: (sentence) => void failures.push(String(sentence)),
  })
  const look = async () => {
    looks[0]?.()
    await expect.poll(() => watch.list()[0]?.underWayMs).toBeNull()
  }
  await look()
  expect(told).toEqual([])
  const next: ClusterSpec = { ...known, group: { consistency: 'AFTER' } }
  await writeSpec(layout, next)
  await look()
  await look()
  expect(told).toEqual([next])
  await rm(layout.spec)
  await look()
  expect([told.length, failures]).toEqual([
    1,
    [expect.stringMatching(/^the spec cannot be read, and stays as it was: /)],
  ])
  watch.stop()
})
