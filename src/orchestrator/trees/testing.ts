import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { shopRecovery } from '#manager/api/testing.ts'
import type { KnownCluster } from '#manager/clusters/cluster-service.ts'
import type { Death, WatchedChannel, WatchedServer } from '#manager/clusters/watched.ts'
import type { ClusterNotes } from '#failover/protocol/notes.ts'
import type { ClusterSpec } from '#failover/protocol/spec.ts'
import type { ViewOverrides } from '#topology/testing.ts'
import { routes } from '../routes/table.ts'
import { orchestratorOver, watchedShop } from '../testing.ts'
import type { Hands } from './hands.ts'
import type { Change } from './step.ts'

/** What is otherwise of one server. */
export interface Otherwise {
  readonly view?: ViewOverrides
  readonly server?: Partial<Omit<WatchedServer, 'channel'>>
  readonly channel?: Partial<WatchedChannel>
}

/** A tree that is only watched: by ordinal whom each follows, and what is otherwise. */
export interface State {
  /** By default a root, one in the middle with two leaves, and another replica of the root. */
  readonly follows?: readonly (number | null)[]
  readonly servers?: Readonly<Record<number, Otherwise>>
  readonly death?: Death
  readonly policies?: ClusterSpec['policies']
  readonly notes?: Partial<ClusterNotes>
  /** In maintenance, by ordinal. */
  readonly held?: number
}

export const unseen: Otherwise = { view: { reachable: false } }
/** The server answered no look since the request. */
export const late: Otherwise = { server: { askedMs: 0 } }
/** The server follows by places in binlogs. */
export const places: Otherwise = { server: { gtidMode: 'OFF' }, channel: { autoPosition: false } }

export function channel(changes: object): Otherwise {
  return { view: { server: { channel: changes } } }
}

export function of(at: number, one: Otherwise): State {
  return { servers: { [at]: one } }
}

/** The same of so many servers. */
export function placesAt(count: number): Pick<State, 'servers'> {
  return { servers: Object.fromEntries(Array.from({ length: count }, (_, at) => [at, places])) }
}

/** Somebody else has that server in maintenance. */
export function heldAt(at: number, reason: string): string {
  const key = `shop-${at}:3306`
  return `Cannot begin maintenance on ${key}: Cannot begin maintenance for instance: ${key}; maintenance reason: ${reason}`
}

const cascade = [null, 0, 1, 1, 0] as const

function known({ follows = cascade, servers = {}, death, policies = {}, notes = {} }: State): KnownCluster {
  const views = Object.fromEntries(
    follows.map((source, at) => [
      `shop-${at}`,
      { follows: source === null ? null : `shop-${source}`, ...servers[at]?.view } satisfies ViewOverrides,
    ]),
  )
  const shop = watchedShop({ shape: { instances: follows.length }, views, spec: { policies }, notes })
  if (shop.watched === undefined) throw new Error('the cluster is not watched')
  const watched = Object.entries(shop.watched.servers).map(([name, server], at) => {
    const { server: changed, channel } = servers[at] ?? {}
    return [name, { ...server, ...changed, channel: server.channel && { ...server.channel, ...channel } }] as const
  })
  return { ...shop, watched: { ...shop.watched, death: death ?? null, servers: Object.fromEntries(watched) } }
}

/** Many trees, one after the other, by one interface: making that takes longer than asking. */
async function overTrees() {
  const clusters: KnownCluster[] = [known({})]
  const done: string[] = []
  const carryOut = async ({ steps, undo = [] }: Change): Promise<readonly string[]> => {
    for (const step of steps.length === 0 ? undo : steps) done.push(`${step.do} ${step.at}`)
    return []
  }
  const hands: Hands = {
    lookNow: async () => undefined,
    carryOut: async (_, change) => void (await carryOut(change)),
    begin: () => ({ id: shopRecovery.id, carryOut, tell: () => undefined, end: () => undefined }),
    discover: async () => undefined,
  }
  const over = await orchestratorOver(clusters, { hands, recoveries: [shopRecovery] })
  return { ...over, clusters, done }
}

let shared: ReturnType<typeof overTrees> | undefined

/** The interface over such a tree, and every step that is done at a server. */
export async function treeOf(state: State = {}) {
  const { get, clusters, done, said, asked } = await (shared ??= overTrees())
  clusters[0] = known(state)
  said.set('shop', state.notes?.annotations ?? {})
  if (state.held !== undefined) await get(`begin-maintenance/shop-${state.held}/3306/ann/disk`)
  done.length = 0
  asked.length = 0
  return { get, done, said, asked }
}

/** What orchestrator asks and where, the tree, the command, and what is said instead of doing that. */
export type Refusal = readonly [check: string, state: State, path: string, says: string | RegExp]

/** Each is refused, and nothing is done at any server. */
export function refuses(title: string, rows: readonly Refusal[]): void {
  describe(title, () => {
    test.each(rows)('%s', async (_, state, path, says) => {
      const { get, done } = await treeOf(state)
      const { status, body } = await get(path)
      expect({ status, ...body }).toMatchObject({
        ...{ status: 500, Code: 'ERROR' },
        Message: typeof says === 'string' ? says : (expect.stringMatching(says) as string),
      })
      expect(done).toEqual([])
    })
  })
}

/** Where the reason of a difference stands: in the columns of a route, or on a page. */
type Reason = readonly [where: string, reason: RegExp]

/** The same, where the answer is another one than orchestrator’s: the reason stands where people look for that. */
export type Difference = readonly [...Refusal, reason: Reason]

/** Each answers so, and its reason is on a page. */
export function differs(title: string, rows: readonly Difference[]): void {
  describe(title, () => {
    test.each(rows)('%s', async (...[, state, path, says, [where, reason]]) => {
      const { get } = await treeOf(state)
      const { body } = await get(path)
      const said = `${body.Code}: ${body.Message}`
      if (typeof says === 'string') expect(said).toBe(says)
      else expect(said).toMatch(says)
      expect(textAt(where)).toMatch(reason)
    })
  })
}

function textAt(where: string): string {
  if (where.endsWith('.md')) return readFileSync(where, 'utf8').replaceAll(/\s+/g, ' ')
  const route = routes.find(({ path }) => path === where || path.startsWith(`${where}/`))
  return `${route?.differs ?? ''} | ${route?.watched ?? ''}`
}
