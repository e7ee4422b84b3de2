import { expect, it } from 'vitest'
import { outsideGroup, inGroup } from '#topology/testing-group.ts'
import { viewOf } from '../instance/pass.ts'
import { aServerState, primaryOfEpoch3, ScriptedServer, testParts } from '../testing.ts'
import { settable } from '../testing-known.ts'
import { perform } from '../testing-passes.ts'
import type { GroupPort } from '../ports/group.ts'
import { Group } from './group.ts'
import type { NextPass } from './steps.ts'

/** Steps of a closed member that is told to form the group. */
async function stepsWhere(trustsAssignment: boolean): Promise<NextPass['steps']> {
  const closed = { readOnly: true, superReadOnly: true, offlineMode: true }
  const server = aServerState({ ...inGroup('shop-0', outsideGroup()), ...closed })
  const parts = await testParts(new ScriptedServer(server))
  settable(parts).told.trustsAssignment = trustsAssignment
  const group = { name: 'g', does: 'form', consistency: 'EVENTUAL' } as const
  return new Group(parts).next(viewOf(parts, server), { ...primaryOfEpoch3, group }).steps
}

it('a group is formed by whoever is told so', async () => {
  expect(await stepsWhere(true)).toEqual([
    { do: 'joinGroup', settings: { name: 'g', consistency: 'EVENTUAL', seeds: [] }, formsIn: 3 },
  ])
})

it('a group is not formed by what is on the disk alone, where that may have gone back in time: there may be one already', async () => {
  expect(await stepsWhere(false)).toBeUndefined()
})

it('a group is shown to be formed only beside a look that shows this server in the group, however many looks fail', async () => {
  const closed = { readOnly: true, superReadOnly: true, offlineMode: true }
  const server = new ScriptedServer(aServerState({ ...inGroup('shop-0', outsideGroup()), ...closed }))
  const parts = await testParts(
    Object.assign(server, { group: { start: async () => undefined } as Partial<GroupPort> as GroupPort }),
  )
  settable(parts).told.trustsAssignment = true
  await parts.observer.refresh()
  const formed = { ...primaryOfEpoch3, group: { name: 'g', does: 'form', consistency: 'EVENTUAL' } as const }
  const pass = new Group(parts).next(viewOf(parts, server.state), formed)
  let looks = 0
  server.readState = async () => {
    looks += 1
    if (looks <= 15) throw new Error('the connection to mysqld was closed')
    // What somebody changes while a look is under way the look does not show.
    if (looks === 16) parts.observer.outdate()
    return (server.state = aServerState({ ...inGroup('shop-0', {}), ...closed }))
  }
  let shown: string | undefined
  const update = parts.file.update.bind(parts.file)
  parts.file.update = (change) => {
    if ('formedEpoch' in change) shown = parts.observer.server?.group?.state
    return update(change)
  }
  await perform(parts, pass)
  await expect.poll(() => parts.file.current.formedEpoch).toBe(3)
  expect(shown).toBe('ONLINE')
  expect(looks).toBeGreaterThan(16)
})
