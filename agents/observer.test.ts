import { describe, expect, it } from 'vitest'
import type { ServerState } from '../topology/observation.ts'
import { gtids } from '../topology/testing.ts'
import { aServerState, ScriptedServer, testParts } from './testing.ts'

/** A server whose answers a test gives one by one. */
class SlowServer extends ScriptedServer {
  readonly answers: ((state: ServerState) => void)[] = []
  override readonly readState = (): Promise<ServerState> => new Promise((resolve) => this.answers.push(resolve))
}

const older = aServerState({ received: gtids('shop-1', 5) })

describe('the observer', () => {
  it('shows what a promise reported, although the server was read before that', async () => {
    const { observer } = await testParts(new ScriptedServer(older))
    await observer.refresh()
    observer.knownToHold(gtids('shop-1', 9))
    expect(observer.server?.received).toBe(gtids('shop-1', 9))
  })

  it('looks again after a change, although a look is under way', async () => {
    const server = new SlowServer(older)
    const { observer } = await testParts(server)
    const before = observer.refresh()
    observer.outdate()
    const after = observer.recent(60_000)
    server.answers[0]?.(aServerState({ offlineMode: true }))
    server.answers[1]?.(aServerState({ offlineMode: false }))
    await before
    expect((await after).offlineMode).toBe(false)
    expect(observer.server?.offlineMode).toBe(false)
  })

  it('does not go back to a read that began before what it knows', async () => {
    const server = new SlowServer(older)
    const { observer } = await testParts(server)
    const first = observer.refresh()
    server.answers[0]?.(older)
    await first
    const outdated = observer.refresh()
    observer.knownToHold(gtids('shop-1', 9))
    const fresh = observer.refresh()
    expect(server.answers).toHaveLength(3)
    server.answers[1]?.(older)
    await outdated
    expect(observer.server?.received).toBe(gtids('shop-1', 9))
    server.answers[2]?.(aServerState({ received: gtids('shop-1', 12) }))
    await fresh
    expect(observer.server?.received).toBe(gtids('shop-1', 12))
  })
})
