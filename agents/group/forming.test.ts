import { expect, it } from 'vitest'
import { outsideGroup, inGroup } from '../../topology/testing-group.ts'
import { viewOf } from '../instance/pass.ts'
import { aServerState, primaryOfEpoch3, ScriptedServer, testParts } from '../testing.ts'
import { Group } from './group.ts'

/** Steps of a closed member that is told to form the group. */
async function stepsWhere(trustsAssignment: boolean): Promise<readonly string[]> {
  const closed = { readOnly: true, superReadOnly: true, offlineMode: true }
  const server = aServerState({ ...inGroup('shop-0', outsideGroup()), ...closed })
  const parts = await testParts(new ScriptedServer(server))
  parts.told.trustsAssignment = trustsAssignment
  const group = { name: 'g', does: 'form', consistency: 'EVENTUAL' } as const
  const { steps = [] } = new Group(parts, () => undefined).next(viewOf(parts, server), { ...primaryOfEpoch3, group })
  return steps.map(({ name }) => name)
}

it('a group is formed by whoever is told so', async () => {
  expect(await stepsWhere(true)).toEqual(['form the group'])
})

it('a group is not formed by what is on the disk alone, where that may have gone back in time: there may be one already', async () => {
  expect(await stepsWhere(false)).toEqual([])
})
