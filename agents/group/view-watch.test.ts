import { expect, it } from 'vitest'
import { inGroup } from '#topology/testing-group.ts'
import type { GroupPort } from '../ports/group.ts'
import { aServerState, ScriptedServer, testParts, watcherOf } from '../testing.ts'
import { ViewWatch } from './view-watch.ts'

it('A member looks at everything once its view of the group is another one, and not before', async () => {
  const state = aServerState(inGroup('shop-0', { primary: 'shop-1' }))
  let viewId = state.group?.viewId ?? ''
  const server = new ScriptedServer(state)
  const parts = await testParts(Object.assign(server, { group: { viewId: async () => viewId } as GroupPort }))
  await parts.observer.refresh()
  let looks = 0
  server.readState = async () => ((looks += 1), { ...state, group: { ...state.group!, viewId } })
  const watcher = watcherOf(parts, new ViewWatch(parts))
  for (let time = 0; time < 4; time++) await watcher.look()
  expect(looks).toBe(0)
  viewId = 'another:7'
  for (let time = 0; time < 4; time++) await watcher.look()
  expect(looks).toBe(1)
  expect(parts.observer.server?.group?.viewId).toBe('another:7')
})

it('A member looks again and again while its view has no primary', async () => {
  const seen = aServerState(inGroup('shop-0', { primary: 'shop-1' }))
  const members = seen.group!.members.map((member) => ({ ...member, role: 'SECONDARY' as const }))
  const state = { ...seen, group: { ...seen.group!, members } }
  const server = new ScriptedServer(state)
  const group = { viewId: async () => state.group.viewId } as GroupPort
  const parts = await testParts(Object.assign(server, { group }))
  await parts.observer.refresh()
  let looks = 0
  server.readState = async () => ((looks += 1), state)
  const watcher = watcherOf(parts, new ViewWatch(parts))
  for (let time = 0; time < 4; time++) await watcher.look()
  expect(looks).toBeGreaterThan(1)
})
