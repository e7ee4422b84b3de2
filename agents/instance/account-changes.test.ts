import { expect, it } from 'vitest'
import { letAccountsChange } from './account-changes.ts'
import { lifeOf } from './life.ts'
import { aServerState, ScriptedServer, testParts } from '../testing.ts'
import { changeLife } from '../testing-known.ts'

const follows = { is: 'following', step: 'started', as: 'secondary', sinceMs: 0 } as const

async function following() {
  const server = new ScriptedServer(aServerState())
  const parts = await testParts(server)
  changeLife(parts, { stage: follows })
  return { parts, server }
}

it('An instance is closed again, also where the change failed, and what was seen meanwhile counts for nothing', async () => {
  const { parts, server } = await following()
  await parts.observer.refresh()
  const change = letAccountsChange(parts, () => Promise.reject(new Error('no')))
  await expect(change).rejects.toThrow('no')
  expect(server.calls).toEqual(['readOnly accounts', 'readOnly closed'])
  expect(parts.observer.isFresh).toBe(false)
  expect(lifeOf(parts).stage).toEqual(follows)
})

it('Where it cannot be closed again its agent does not go on as if another hand had opened it', async () => {
  const { parts, server } = await following()
  server.setReadOnly = (to) => (to === 'closed' ? Promise.reject(new Error('locked')) : Promise.resolve())
  await expect(letAccountsChange(parts, () => Promise.resolve())).rejects.toThrow('locked')
  expect(parts.observer.isFresh).toBe(false)
  expect(lifeOf(parts).stage).toEqual({ is: 'closed' })
})
