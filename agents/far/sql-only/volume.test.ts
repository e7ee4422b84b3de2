import { describe, expect, it } from 'vitest'
import type { VolumePort } from '#agents/ports/volume.ts'
import { createSqlOnlyVolume } from './volume.ts'

const near = { readPurged: () => Promise.resolve('noted') } as unknown as VolumePort
const uuid = '3e11fa47-71ca-11e1-9e33-c80aa9429562'

function volume(executed = `${uuid}:1-7`, received = ''): VolumePort {
  return createSqlOnlyVolume({
    near,
    readExecuted: () => Promise.resolve(executed),
    readReceived: () => Promise.resolve(received),
    syncRelayLogs: () => Promise.resolve(),
  })
}

describe('The volume of a host that only SQL reaches', () => {
  it('holds what its server executed, and what that received and has not applied yet', async () => {
    expect(await volume().readBinlogSet()).toBe(`${uuid}:1-7`)
    expect(await volume(`${uuid}:1-7`, `${uuid}:5-9`).readBinlogSet()).toBe(`${uuid}:1-9`)
  })

  it.each(['findTail', 'readTail', 'writeTail', 'archiveErrant', 'trimTail', 'swapIn', 'freshSeedFolder'] as const)(
    'gives and takes no files: %s is refused',
    async (verb) => {
      const asked = volume() as unknown as Readonly<Record<string, () => Promise<unknown>>>
      await expect(asked[verb]?.()).rejects.toMatchObject({ code: 'REGENT_FAR_CANNOT' })
    },
  )

  it('says nothing of free space, and no ending that would have its tail archived', async () => {
    expect((await volume().probe()).freeBytes).toBeNull()
    expect((await volume().glanceAtEnding()).how).toBe('crashed')
  })

  it('keeps a tail, and names it', async () => {
    expect(await volume().judgeTail(`${uuid}:1-7`)).toEqual({ kind: 'nothing' })
    expect(await volume().judgeTail(`${uuid}:1-5`)).toMatchObject({ kind: 'refuse', gtids: `${uuid}:6-7` })
  })

  it('calls no transaction harmless that it cannot look into', async () => {
    expect(await volume().withoutEffect(`${uuid}:6-7`)).toBe('')
  })
})
