import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { FarIdentity } from './identity.ts'

it('A far server may have the number it was adopted with, and once that is renewed either of two, also for the next agent', async () => {
  const home = await mkdtemp(join(tmpdir(), 'regent-far-identity-'))
  try {
    const read = () => FarIdentity.read(join(home, 'far-server.json'), 'adopted', realWorld.random)
    const identity = await read()
    expect(identity.uuids).toEqual(['adopted'])
    const first = await identity.renew('adopted')
    expect((await read()).uuids).toEqual(['adopted', first])
    // A copy that failed before the server ended: the next one is for the same server.
    const second = await identity.renew('adopted')
    expect((await read()).uuids).toEqual(['adopted', second])
    const third = await identity.renew(second)
    expect(identity.uuids).toEqual([second, third])
  } finally {
    await rm(home, { recursive: true })
  }
})
