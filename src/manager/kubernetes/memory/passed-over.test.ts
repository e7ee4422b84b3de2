import { describe, expect, it } from 'vitest'
import { PassedOver } from './passed-over.ts'

const [shop, mall] = [
  { namespace: 'shops', name: 'shop' },
  { namespace: 'shops', name: 'mall' },
]
const { signal } = new AbortController()

function reconciling() {
  const leading = { now: false }
  const passedOver = new PassedOver(() => leading.now)
  let during = async (): Promise<void> => undefined
  const run = passedOver.noting(async () => during())
  return { leading, passedOver, run, meanwhile: (what: () => Promise<void>) => (during = what) }
}

describe('what a manager left undone because it did not lead', () => {
  it('is what it ran for without the lead, until it runs for that with the lead', async () => {
    const { leading, passedOver, run } = reconciling()
    await run(shop, signal)
    await run(mall, signal)
    await run(shop, signal)
    expect(passedOver.keys).toEqual([shop, mall])
    leading.now = true
    expect(passedOver.keys).toEqual([shop, mall])
    await run(shop, signal)
    expect(passedOver.keys).toEqual([mall])
  })

  it('is nothing of what it did while it led, also after it has led no longer for a moment', async () => {
    const { leading, passedOver, run } = reconciling()
    leading.now = true
    await run(shop, signal)
    await run(mall, signal)
    leading.now = false
    await run(mall, signal)
    leading.now = true
    expect(passedOver.keys).toEqual([mall])
  })

  it('is also what it was at when the lead came or went', async () => {
    const { leading, passedOver, run, meanwhile } = reconciling()
    leading.now = true
    meanwhile(async () => void (leading.now = false))
    await run(shop, signal)
    meanwhile(async () => void (leading.now = true))
    await run(mall, signal)
    expect(passedOver.keys).toEqual([shop, mall])
  })

  it('stays where a run with the lead fails', async () => {
    const { leading, passedOver, run, meanwhile } = reconciling()
    await run(shop, signal)
    leading.now = true
    meanwhile(async () => {
      throw new Error('no answer')
    })
    await expect(run(shop, signal)).rejects.toThrow('no answer')
    expect(passedOver.keys).toEqual([shop])
  })
})
