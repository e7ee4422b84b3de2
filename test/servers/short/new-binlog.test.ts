import { afterAll, beforeAll, expect, it } from 'vitest'
import { BareInstance } from '#test/support/bare-instance.ts'

let instance: BareInstance

beforeAll(async () => {
  instance = await BareInstance.create('bare-0')
  await instance.process.initialise()
  await instance.start()
})

afterAll(() => instance.remove())

it('a binlog is followed by a new one where it is large, and by none where it is not', async () => {
  const newest = async () => (await instance.server.readState()).binlogNumber
  const before = await newest()
  await instance.server.beginBinlogAfter(1_000_000)
  expect(await newest()).toBe(before)
  await instance.server.beginBinlogAfter(100)
  expect(await newest()).toBe(before + 1)
})
