import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import type { GroupState, MemberState } from '#topology/snapshot/observation.ts'
import type { ExpulsionPort } from '../ports/expulsion.ts'
import { createExpulsion } from './expulsion.ts'
import { hostAndPort } from './xcom/address.ts'
import { linesThrough } from './xcom/connection.ts'
import { aConfiguration, PlayedMember } from './xcom/testing.ts'

let played: [PlayedMember, PlayedMember, PlayedMember]
let expulsion: ExpulsionPort

beforeEach(async () => {
  played = [await PlayedMember.start(), await PlayedMember.start(), await PlayedMember.start()]
  const configuration = aConfiguration(played.map(({ address }) => ({ address, incarnation: '1' })))
  for (const member of played) member.configurations = [configuration]
  expulsion = createExpulsion({
    open: linesThrough(() => ({ kind: 'xcom', tls: null }), realWorld.timers),
    world: realWorld,
  })
})

afterEach(async () => {
  expulsion.rest()
  for (const member of played) await member.stop()
})

/** The third view, in which these are the states of the members. */
function seen(...states: readonly [MemberState, MemberState, MemberState]): GroupState {
  const members = states.map((state, at) => ({
    ...hostAndPort(played[at]?.address ?? ''),
    ...{ uuid: String(at), state, role: at === 0 ? 'PRIMARY' : 'SECONDARY', version: '9.7.4' },
  }))
  return { name: 'g', state: 'ONLINE', viewId: '17:3', members, certifying: 0, applying: 0, error: '' } as GroupState
}

const snapshots = () => played.flatMap(({ asked }) => asked.filter((question) => question === 'snapshot')).length

describe('Who is in the group', () => {
  it('is asked of a member that has recovered, though the view stays as it is', async () => {
    expulsion.know(seen('ONLINE', 'RECOVERING', 'RECOVERING'))
    expect(String(await expulsion.expel(played[0].address))).toContain('the members of the group were not known')
    await expect.poll(snapshots).toBe(1)
    expulsion.know(seen('ONLINE', 'ONLINE', 'ONLINE'))
    await expect.poll(snapshots).toBe(2)
  })

  it('is asked once while nothing changes', async () => {
    for (let looks = 0; looks < 5; looks++) {
      expulsion.know(seen('ONLINE', 'ONLINE', 'ONLINE'))
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    await expect.poll(snapshots).toBe(1)
  })
})
