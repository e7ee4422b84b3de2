import { expect, it } from 'vitest'
import { readManifest } from '#backup/transfer/stored-manifests.ts'
import type { CopyInParts } from '#agents/ports/volume.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { backedUp, name } from '../testing-backups.ts'
import { fetchBase } from './fetch-base.ts'

it('A download says how much is here, how fast that comes and how long the rest takes', async () => {
  const { store } = await backedUp()
  const manifest = await readManifest(store, 'shop', name)
  const said: string[] = []
  let nowMs = 0
  const clock = { ...realWorld.clock, monotonicMs: () => (nowMs += 2_000) }
  const unpackInto = async (_: string, { read }: CopyInParts) => {
    for await (const chunk of read(() => undefined)) expect(chunk.length).toBeGreaterThan(0)
  }
  await fetchBase(manifest, '/nowhere', {
    ...{ store, key: null, own: true, half: null, volume: { unpackInto, freshSeedFolder: async () => '/nowhere' } },
    ...{ world: { clock, timers: realWorld.timers }, signal: new AbortController().signal },
    progress: (stage) => void said.push(String(stage)),
  })
  expect(said[0]).toMatch(/^[\d.]+ MiB of 3\.0 MiB are here$/)
  expect(said.at(-1)).toMatch(/^3\.0 MiB of 3\.0 MiB are here, [\d.]+ MB\/s; a few seconds are left$/)
})
