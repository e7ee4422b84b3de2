import { say } from '#common/sentence/sentence.ts'
import { describe, expect, it } from 'vitest'
import {
  aServerState,
  primaryOfEpoch3,
  replicaOfEpoch3,
  ScriptedProcess,
  ScriptedServer,
  testParts,
} from '#agents/testing.ts'
import { settable } from '#agents/testing-known.ts'
import type { ServerState } from '#topology/snapshot/observation.ts'
import type { StoredState } from '#agents/instance/stored-state.ts'
import type { Parts } from '#agents/instance/parts.ts'
import type { ActionResult } from '../wire/calls.ts'
import { builtInNames, builtInStreams } from '../built-in/names.ts'
import { builtInActions } from './built-in-actions.ts'
import { roleOf } from './role.ts'

const open = { readOnly: false, superReadOnly: false, offlineMode: false }
const closed = { readOnly: true, superReadOnly: true, offlineMode: false }
const leading: Partial<StoredState> = { promise: 3, assignment: primaryOfEpoch3 }
const following: Partial<StoredState> = { promise: 3, assignment: replicaOfEpoch3 }

interface Scene {
  readonly stored?: Partial<StoredState>
  readonly server?: Partial<ServerState>
  readonly change?: (parts: Parts, process: ScriptedProcess, server: ScriptedServer) => void
}

/** An agent that has looked at its server, and then `change`. */
async function partsIn({ stored = leading, server: state = open, change }: Scene): Promise<Parts> {
  const server = new ScriptedServer({ ...aServerState(), ...state })
  const process = new ScriptedProcess()
  const parts = await testParts(server, { process })
  await parts.file.update(stored)
  await parts.observer.refresh()
  change?.(parts, process, server)
  return parts
}

async function ask(name: string, scene: Scene): Promise<ActionResult> {
  const action = builtInActions(await partsIn(scene)).find((one) => one.name === name)
  if (action === undefined) throw new Error(`${name} is not there`)
  return action.run({}, { deadlineMs: 1_000, signal: new AbortController().signal })
}

const said = (result: ActionResult): string => (result.ok ? `said "${result.output.toString()}"` : result.message)

const mute: Scene['change'] = (_parts, _process, server) => {
  server.readState = async () => Promise.reject(new Error('no answer'))
}

it('What is built in has the names by which others know it', async () => {
  const actions = builtInActions(await partsIn({}))
  const namesOf = (some: typeof actions) => some.map(({ name }) => name).sort()
  expect(namesOf(actions)).toEqual([...builtInNames].sort())
  expect(namesOf(actions.filter(({ stream }) => stream !== undefined))).toEqual(builtInStreams)
})

describe('roleProbe', () => {
  const cases: readonly (readonly [string, Scene, string | RegExp])[] = [
    ['an open primary', {}, 'said "primary"'],
    ['a replica', { stored: following, server: closed }, 'said "secondary"'],
    [
      'a replica that has promised another epoch',
      { stored: { ...following, promise: 4 }, server: closed },
      'said "secondary"',
    ],
    ['a primary that is closed', { server: closed }, 'said ""'],
    ['a primary that lets nobody in', { server: { ...open, offlineMode: true } }, 'said ""'],
    ['a primary that has promised another epoch', { stored: { ...leading, promise: 4 } }, 'said ""'],
    [
      'a primary that is fenced',
      { stored: { ...leading, assignment: { ...primaryOfEpoch3, fenced: true } } },
      'said ""',
    ],
    [
      'a primary without its lease',
      { change: ({ guards }) => (settable(guards).closed.lease = say`the lease ran out`) },
      'said ""',
    ],
    [
      'a primary short of space',
      { change: ({ guards }) => (settable(guards).closed.space = say`low space`) },
      'said ""',
    ],
    ['a primary whose mysqld is dead', { change: (_parts, process) => (process.state = 'dead') }, 'said ""'],
    [
      'a replica whose mysqld starts',
      { stored: following, server: closed, change: (_parts, process) => (process.state = 'starting') },
      'said ""',
    ],
    ['an instance that nobody told what to be', { stored: { assignment: null }, server: closed }, 'said ""'],
    ['a replica that takes writes by another hand', { stored: following, server: open }, 'said ""'],
    ['a replica that is offline', { stored: following, server: { ...closed, offlineMode: true } }, 'said ""'],
    ['an instance that is being copied to', { stored: { ...following, seeding: true }, server: closed }, 'said ""'],
    [
      'a primary whose mysqld is frozen',
      { change: (_parts, process) => (process.state = 'stopped') },
      /^mysqld is frozen: failed$/,
    ],
    [
      'a primary that was changed and does not answer since',
      {
        change: (parts, process, server) => {
          mute(parts, process, server)
          parts.observer.outdate()
        },
      },
      /: failed$/,
    ],
  ]
  it.each(cases)('of %s', async (_what, scene, expected) => {
    expect(said(await ask('roleProbe', scene))).toMatch(expected)
  })

  it('looks again at a server that its agent has just changed', async () => {
    const outdated = { change: ({ observer }: Parts) => observer.outdate() }
    expect(roleOf(await partsIn(outdated))).toMatchObject({ is: 'unknown' })
    expect(said(await ask('roleProbe', outdated))).toBe('said "primary"')
  })

  it('asks the server nothing where the agent has seen all', async () => {
    expect(said(await ask('roleProbe', { change: mute }))).toBe('said "primary"')
  })

  it('of an agent that has not heard from its mysqld yet cannot tell', async () => {
    const parts = await partsIn({ change: ({ observer }) => observer.forget() })
    expect(roleOf(parts)).toEqual({ is: 'unknown', why: 'mysqld was not looked at since its agent changed it' })
  })
})

describe('healthyProbe and availableProbe', () => {
  const stopped = aServerState({ channel: { sqlRunning: false, sqlError: 'duplicate key' } }).channel
  const cases: readonly (readonly [string, Scene, string, string])[] = [
    ['an open primary', {}, 'said "healthy"', 'said "available"'],
    ['a replica', { stored: following, server: closed }, 'said "healthy"', 'said "available"'],
    [
      'a fenced primary',
      { stored: { ...leading, assignment: { ...primaryOfEpoch3, fenced: true } }, server: closed },
      'said "healthy"',
      'this instance is fenced by a person: failed',
    ],
    [
      'a dead mysqld',
      { change: (_parts, process) => (process.state = 'dead') },
      'mysqld is dead: failed',
      'mysqld is dead: failed',
    ],
    [
      'a primary short of space',
      { server: closed, change: ({ guards }) => (settable(guards).closed.space = say`low space: 1 MiB free`) },
      'low space: 1 MiB free: failed',
      'low space: 1 MiB free: failed',
    ],
    [
      'a replica that does not apply',
      { stored: following, server: { ...closed, channel: stopped } },
      'replication does not apply: duplicate key: failed',
      'replication does not apply: duplicate key: failed',
    ],
  ]
  it.each(cases)('of %s', async (_what, scene, healthy, available) => {
    expect(said(await ask('healthyProbe', scene))).toBe(healthy)
    expect(said(await ask('availableProbe', scene))).toBe(available)
  })
})

describe('readonly and readwrite', () => {
  const fenced = { ...leading, assignment: { ...primaryOfEpoch3, fenced: true } }
  const cases: readonly (readonly [string, Scene, RegExp, RegExp])[] = [
    ['an open primary', {}, /^asks fence shop-0$/, /^said ""$/],
    [
      'a replica',
      { stored: following, server: closed },
      /^said ""$/,
      /this instance is a replica.*: preconditionFailed$/,
    ],
    ['a closed primary', { server: closed }, /^said ""$/, /takes no writes: .*: preconditionFailed$/],
    ['a fenced primary', { stored: fenced, server: closed }, /^said ""$/, /^asks unfence shop-0$/],
    [
      'a dead mysqld',
      {
        change: ({ observer }, process) => {
          process.state = 'dead'
          observer.forget()
        },
      },
      /^mysqld is dead: preconditionFailed$/,
      /mysqld is dead: preconditionFailed$/,
    ],
  ]

  /** What is said, or what the manager is asked for. */
  async function outcomeOf(name: string, scene: Scene): Promise<string> {
    const asking: string[] = []
    const change: Scene['change'] = (parts, ...more) => {
      scene.change?.(parts, ...more)
      parts.asks.ask = async (wanted) => {
        asking.push('instance' in wanted ? `asks ${wanted.wants} ${wanted.instance}` : wanted.wants)
        return { outcome: 'done', sentence: '' }
      }
    }
    const answer = said(await ask(name, { ...scene, change }))
    return asking[0] ?? answer
  }

  it.each(cases)('at %s succeed where that is so, or ask a manager', async (_what, scene, readonly, readwrite) => {
    expect(await outcomeOf('readonly', scene)).toMatch(readonly)
    expect(await outcomeOf('readwrite', scene)).toMatch(readwrite)
  })
})

it('dataLoad is not done beside a mysqld, and the answer says what does it', async () => {
  expect(said(await ask('dataLoad', {}))).toMatch(
    /^dataLoad is not done beside a mysqld: .*copied from another.*: notImplemented$/,
  )
})
