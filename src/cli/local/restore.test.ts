import { join } from 'node:path'
import { expect, it } from 'vitest'
import { aManifest, aPiece } from '#backup/objects/testing.ts'
import { gtidsOf } from '#backup/objects/piece-name.ts'
import { temporaryFolder } from '#local/testing.ts'
import { requireRoom } from './restore.ts'

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
