import { describe, expect, it } from 'vitest'
import { say } from '#common/sentence/sentence.ts'
import { bytesToRestore, mayGrowBy, relayBatchBytes, whyNoRoom } from './space.ts'

const gibibyte = 1_073_741_824
const backup = { name: '20261126T031209Z', rawBytes: 10 * gibibyte }

describe('A restore needs', () => {
  it('the data and what their server writes at once, where nothing is replayed', () => {
    expect(bytesToRestore(backup, null)).toBe(11 * gibibyte)
  })

  it('with an archive relay logs of a batch, whose last piece may be the largest', () => {
    const replay = { bytes: 3 * gibibyte, largestBytes: gibibyte }
    expect(bytesToRestore(backup, replay)).toBe(12 * gibibyte + 2 * relayBatchBytes)
  })

  it('no byte less than that, and says all numbers', () => {
    const asked = { backup, replay: { bytes: 300 * gibibyte, largestBytes: gibibyte }, besidesBytes: gibibyte }
    expect(whyNoRoom({ ...asked, freeBytes: 14 * gibibyte }, say`there`)).toBe('')
    expect(String(whyNoRoom({ ...asked, freeBytes: 14 * gibibyte - 1 }, say`there`))).toBe(
      'backup 20261126T031209Z needs 14336.0 MiB there (10240.0 MiB of data, 307200.0 MiB of binary logs to replay), and 14336.0 MiB are free',
    )
  })

  it('no room for what an archive changes and deletes, however much that is: only what may grow is known', () => {
    expect(mayGrowBy({ bytes: 300 * gibibyte, largestBytes: gibibyte })).toBe(300 * gibibyte)
    expect(mayGrowBy(null)).toBe(0)
  })
})
