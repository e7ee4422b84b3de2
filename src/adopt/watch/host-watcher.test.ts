import { afterEach, expect, it, vi } from 'vitest'
import { uuidOf } from '#topology/testing.ts'
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

it.each([
  ['gtid_executed', { executed: 'nonsense' }, ''],
  ['Retrieved_Gtid_Set', { executed: '' }, `${uuidOf('shop-0')}:5-`],
])('A server is not seen whose %s nobody understands: the judgement of its cluster goes by that', async (...one) => {
  const [what, row, received] = one
  const rows = [[row], [{ Source_Host: '10.0.0.1', Retrieved_Gtid_Set: received }], []]
  const query = (statement: string) => {
    if (statement.includes('@@version')) return Promise.resolve([{ version: '9.7.4' }])
    return Promise.resolve(statement.includes('gtid_executed') ? rows : [])
  }
  const session = { isOpen: true, close: () => undefined, query, queryAll: async () => rows }
  vi.spyOn(ServerSession, 'open').mockResolvedValue(session as unknown as ServerSession)
  const [look] = looksOf({})
  if (look === undefined) throw new Error('the scene has a look')
  const login = async () => ({ user: 'regent', password: '', ca: undefined })
  const saw: string[] = []
  const watcher = new HostWatcher(look.host, {
    ...{ login, clock: realWorld.clock },
    saw: ({ reach, why }) => saw.push(`${reach}: ${why}`),
  })
  await expect(watcher.look()).rejects.toThrow(`its ${what} is no set of GTIDs`)
  expect(saw).toEqual([expect.stringMatching(/^unasked: its /)])
  expect(watcher.newest.server).toBeNull()
})
