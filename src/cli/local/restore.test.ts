import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { aManifest, aPiece } from '#backup/objects/testing.ts'
import { gtidsOf } from '#backup/objects/piece-name.ts'
import { writeCluster } from '#local/folder/cluster-file.ts'
import { clusterIn, temporaryFolder } from '#local/testing.ts'
import type { Io } from '../terminal/io.ts'
import { requireRoom, restoreLocally } from './restore.ts'

const pebibyte = 1_125_899_906_842_624
const piece = aPiece({})
const steps = [{ piece, gtids: gtidsOf(piece) }]

it('A restore for which the volume has no room is refused before anything is made, with all numbers', async () => {
  const dir = join(await temporaryFolder(), 'not', 'yet')
  const at = { dir, instances: 3, lowSpaceBytes: 0 }
  const none = { bytes: 0, largestBytes: 0 }
  const small = { backup: aManifest({ rawBytes: 1 }), steps: [] }
  expect(await requireRoom(small, none, at)).toBe('')
  await expect(requireRoom({ ...small, steps }, { bytes: 1, largestBytes: pebibyte }, at)).rejects.toThrow(
    /^backup \S+ needs 1073742848\.0 MiB on the volume of \S+ for 3 instances \(0\.0 MiB of data, 0\.0 MiB of binary logs/,
  )
  const large = { backup: aManifest({ rawBytes: pebibyte }), steps: [] }
  await expect(requireRoom(large, none, at)).rejects.toThrow(/ for 3 instances \(1073741824\.0 MiB of data, /)
})

it('A restore is begun however much is replayed, and people are told how much more room that may need', async () => {
  const at = { dir: await temporaryFolder(), instances: 3, lowSpaceBytes: 0 }
  const plan = { backup: aManifest({ rawBytes: 1 }), steps }
  expect(String(await requireRoom(plan, { bytes: pebibyte, largestBytes: 1 }, at))).toMatch(
    /^where the 1073741824\.0 MiB of binary logs to replay only insert rows, \d+\.\d MiB more may be needed on the volume of /,
  )
})

it('Nothing is restored over the data of a cluster that is there, and the refusal names the way', async () => {
  const dir = await temporaryFolder()
  await writeCluster(dir, clusterIn(dir))
  const before = await readdir(dir, { recursive: true })
  const restore = { store: { address: join(dir, 'no-store') }, of: 'shop' }
  await expect(restoreLocally({} as Io, 'shop', { data: dir, output: 'text' }, restore)).rejects.toThrow(
    /nothing is restored over data: choose another name, .*\(regent backup now\) .*\(regent local down --purge\)/,
  )
  expect(await readdir(dir, { recursive: true })).toEqual(before)
})
