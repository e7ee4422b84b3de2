import { say } from '#common/sentence/sentence.ts'
import { describe, expect, it } from 'vitest'
import { whyClosed } from '../instance/known.ts'
import type { Parts } from '../instance/parts.ts'
import { guardSpace } from './space-guard.ts'
import { aServerState, ScriptedServer, testParts } from '../testing.ts'
import { settable } from '../testing-known.ts'

const mib = 1024 ** 2

/** An agent that stops writes below 1024 MiB, unless told otherwise; `looks` is called with what is free then. */
async function guarded(lowSpaceBytes = 1024 * mib) {
  const fixed = await testParts(new ScriptedServer(aServerState()))
  const parts = (freeBytes: number | null): Parts => ({
    ...fixed,
    config: { ...fixed.config, lowSpaceBytes },
    observer: { freeBytes } as Parts['observer'],
  })
  const looks = (freeBytes: number | null): string | null => {
    guardSpace(parts(freeBytes))
    return fixed.guards.closed.space?.toString() ?? null
  }
  return {
    looks,
    guards: fixed.guards,
    notices: () => fixed.notices.list.map(({ code, sentence }) => `${code}: ${String(sentence)}`),
  }
}

const sentence = 'low space: 1023.0 MiB free, writes stop below 1024.0 MiB'

describe('writes on a disk that fills up', () => {
  it('stop below the limit, not at it, and it is said once', async () => {
    const { looks, notices } = await guarded()
    expect(looks(1024 * mib)).toBeNull()
    expect(notices()).toEqual([])
    expect(looks(1023 * mib)).toBe(sentence)
    expect(looks(1022 * mib)).toBe(sentence)
    expect(looks(0)).toBe(sentence)
    expect(notices()).toEqual([`LowSpace: ${sentence}`])
  })

  it('go on at twice the space and not before, and that is said too', async () => {
    const { looks, notices } = await guarded()
    looks(1023 * mib)
    expect(looks(1025 * mib)).toBe(sentence)
    expect(looks(2048 * mib - 1)).toBe(sentence)
    expect(looks(2048 * mib)).toBeNull()
    expect(looks(1500 * mib)).toBeNull()
    expect(notices()).toEqual([`LowSpace: ${sentence}`, 'SpaceBack: 2048.0 MiB free again'])
  })

  it('stop again when it fills up again', async () => {
    const { looks, notices } = await guarded()
    for (const free of [1023, 2048, 1023]) looks(free * mib)
    expect(looks(1024 * mib)).toBe(sentence)
    expect(notices()).toHaveLength(3)
  })

  it('go on as they were while nobody knows what is free', async () => {
    const { looks } = await guarded()
    expect(looks(null)).toBeNull()
    looks(1023 * mib)
    expect(looks(null)).toBe(sentence)
  })

  it('are not stopped where no limit is set', async () => {
    const { looks, notices } = await guarded(0)
    expect(looks(0)).toBeNull()
    expect(notices()).toEqual([])
  })

  it('that are stopped for want of a lease too go on when the last of both reasons ends', async () => {
    const { looks, guards } = await guarded()
    settable(guards).closed.lease = say`the lease ran out`
    looks(1023 * mib)
    settable(guards).closed.lease = null
    expect(String(whyClosed(guards))).toBe(sentence)
    settable(guards).closed.lease = say`the lease ran out`
    looks(2048 * mib)
    expect(String(whyClosed(guards))).toBe('the lease ran out')
  })
})
