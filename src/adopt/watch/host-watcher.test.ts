import { afterEach, expect, it, vi } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { ServerSession } from '../servers/session.ts'
import { HostWatcher } from './host-watcher.ts'
import { looksOf } from './testing.ts'

afterEach(() => vi.restoreAllMocks())

it('A session that is let in once nobody watches its server any more is closed, and nobody is told of that', async () => {
  const opening = Promise.withResolvers<ServerSession>()
  const open = vi.spyOn(ServerSession, 'open').mockReturnValue(opening.promise)
  const [close, saw] = [vi.fn(), vi.fn()]
  const [look] = looksOf({})
  if (look === undefined) throw new Error('the scene has a look')
  const login = async () => ({ user: 'regent', password: '', ca: undefined })
  const watcher = new HostWatcher(look.host, { login, clock: realWorld.clock, saw })
  const looking = watcher.look().catch(() => undefined)
  await expect.poll(() => open.mock.calls.length).toBe(1)
  watcher.stop()
  const query = () => new Promise(() => undefined)
  opening.resolve({ isOpen: true, close, query } as unknown as ServerSession)
  await expect.poll(() => close.mock.calls.length).toBe(1)
  await looking
  expect(saw).not.toHaveBeenCalled()
})
