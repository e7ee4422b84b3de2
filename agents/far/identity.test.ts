import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { FarIdentity } from './identity.ts'

it('A far server may have the number it was last seen with, or any that its host may have been given since, also for the next agent', async () => {
  const home = await mkdtemp(join(tmpdir(), 'regent-far-identity-'))
  try {
    const read = () => FarIdentity.read(join(home, 'far-server.json'), 'adopted', realWorld.random)
    const identity = await read()
    expect(identity.uuids).toEqual(['adopted'])
    expect(identity.allows('adopted')).toBe(true)
    const first = await identity.renew()
    expect((await read()).uuids).toEqual(['adopted', first])
    // A copy that failed before the server ended: the next one is for the same server.
    expect(identity.allows('adopted')).toBe(true)
    const second = await identity.renew()
    // The connection may have been cut before the host had the second: its next start is with the first.
    expect((await read()).uuids).toEqual(['adopted', first, second])
    expect([identity.allows('another'), identity.allows(second)]).toEqual([false, true])
    const third = await identity.renew()
    expect(identity.uuids).toEqual([second, third])
    // Nobody has seen yet which of them the server has.
    const fourth = await (await read()).renew()
    expect((await read()).uuids).toEqual([second, third, fourth])
  } finally {
    await rm(home, { recursive: true })
  }
})
