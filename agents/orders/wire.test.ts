import { describe, expect, it } from 'vitest'
import type { PrimaryAssignment, ReplicaAssignment } from '#failover/protocol/assignment.ts'
import { orderVersion } from '#failover/protocol/message.ts'
import { orders } from '#failover/protocol/order.ts'
import type {
  OrderName,
  DemoteOrder,
  EmptyOrder,
  FetchOrder,
  PasswordsOrder,
  PromiseOrder,
  RenounceOrder,
  ReseedOrder,
} from '#failover/protocol/order.ts'
import { words } from '#failover/protocol/word.ts'
import type { WordName, LeaderWord, LeaseConfirmation, LeaseVoteRequest } from '#failover/protocol/word.ts'
import { gtids, hostOf, memberOf, uuidOf } from '#topology/testing.ts'
import { Agent } from '../agent.ts'
import { readOrder, readWord } from './wire.ts'
import { aServerState, MemoryDisk, ScriptedServer, testParts } from '../testing.ts'

const base = { version: orderVersion, cluster: 'shop', member: memberOf('shop-0'), epoch: 4, revision: 9 }
const peer = { instance: 'shop-1', host: hostOf('shop-1'), port: 3306, agent: `${hostOf('shop-1')}:9400` }
const held = gtids('shop-0', 100)

const group = { name: '11111111-2222-8333-8444-555555555555', does: 'join', consistency: 'EVENTUAL' } as const
const primary: Required<PrimaryAssignment> = {
  ...base,
  role: 'primary',
  peers: [peer],
  fenced: false,
  run: 'run-2',
  group,
  counted: ['shop-1'],
  countedUuids: { 'shop-1': uuidOf('shop-1') },
  catchingUp: ['shop-2'],
  connected: ['shop-1'],
  acks: 1,
  mayRestart: false,
  donates: true,
  elected: held,
}
const replica: Required<ReplicaAssignment> = {
  ...base,
  role: 'replica',
  peers: [peer],
  fenced: false,
  run: 'run-2',
  group,
  source: peer,
  counted: true,
  sourceUuid: uuidOf('shop-1'),
  sourceHolds: held,
  sourcePurged: '',
  sourceReady: true,
  catchUpFor: 'run-2.0',
  errant: held,
  passedOver: true,
}
const promise: Required<PromiseOrder> = { ...base, after: held, waitMs: 0, keepReceiverFrom: 'shop-1', prepare: true }
const demote: Required<DemoteOrder> = { ...base, graceMs: 0, deadlineMs: 1_000, electUuid: uuidOf('shop-1') }
const fetch: Required<FetchOrder> = { ...base, from: peer, until: held, deadlineMs: 1_000, salvage: base.member }
const reseed: Required<ReseedOrder> = {
  ...base,
  donor: peer,
  source: peer,
  destroys: held,
  sourceHolds: held,
  errant: held,
  peers: [peer],
  beside: true,
  backup: { store: { address: '/backups' }, of: 'shop', purged: held },
}
const renounce: Required<RenounceOrder> = { ...base, incarnation: 'run-2' }
const passwords: Required<PasswordsOrder> = { ...base, generation: 'a2', old: 'kept' }
const empty: Required<EmptyOrder> = { ...base, of: 'shop-1', gtids: held }
const lease: Required<LeaseConfirmation> = { ...base, question: 1, forgetful: { 'shop-1': 'run-1.0' } }
const word: Required<LeaderWord> = {
  ...base,
  forgetful: { 'shop-1': 'run-1.0' },
  compare: { question: 1, held: { 'shop-1': { as: `shop-1@volume-1 ${uuidOf('shop-1')}`, gtids: held } } },
}
const leaseVote: Required<LeaseVoteRequest> = { version: orderVersion, cluster: 'shop', asking: 'shop-1', epoch: 4 }

type WireName = OrderName | WordName

const isOrder = (wire: WireName): wire is OrderName => wire in orders
const routeOf = (wire: WireName): string => (isOrder(wire) ? orders[wire] : words[wire]).route
const checkWire = (wire: WireName, body: unknown): unknown =>
  isOrder(wire) ? readOrder(wire, body) : readWord(wire, body)

interface Kind {
  readonly wire: WireName
  /** With everything that may be said. */
  readonly whole: object
  /** What agents and managers have not always said. */
  readonly optional: readonly string[]
}

const kinds: Readonly<Record<string, Kind>> = {
  'an assignment to lead': {
    wire: 'assign',
    whole: primary,
    optional: ['countedUuids', 'connected', 'donates', 'run', 'elected', 'group'],
  },
  'an assignment to follow': {
    wire: 'assign',
    whole: replica,
    optional: ['sourceReady', 'catchUpFor', 'errant', 'passedOver', 'run', 'group'],
  },
  'a promise': { wire: 'promise', whole: promise, optional: ['keepReceiverFrom', 'prepare'] },
  'a demotion': { wire: 'demote', whole: demote, optional: ['electUuid'] },
  'a fetch': { wire: 'fetch', whole: fetch, optional: ['salvage'] },
  'a re-seed': { wire: 'reseed', whole: reseed, optional: ['backup', 'beside', 'errant'] },
  'a renunciation': { wire: 'renounce', whole: renounce, optional: [] },
  'other passwords': { wire: 'passwords', whole: passwords, optional: [] },
  'empty transactions': { wire: 'empty', whole: empty, optional: [] },
  'a lease': { wire: 'lease', whole: lease, optional: ['forgetful'] },
  'the word of a manager that leads': { wire: 'word', whole: word, optional: ['forgetful', 'compare'] },
  'a peer’s question': { wire: 'leaseVote', whole: leaseVote, optional: [] },
  'what is looked after': { wire: 'watches', whole: { version: orderVersion, cluster: 'shop' }, optional: [] },
}

const without = (whole: object, keys: readonly string[]): object =>
  Object.fromEntries(Object.entries(whole).filter(([key]) => !keys.includes(key)))
const bad = (message: string) => expect.objectContaining({ code: 'REGENT_BAD_REQUEST', message }) as Error
const long = (length: number): string => 'a'.repeat(length)

describe.each(Object.entries(kinds))('%s', (_, { wire, whole, optional }) => {
  const keys = Object.keys(whole)

  it('passes with everything it may say, and in its oldest shape', () => {
    checkWire(wire, whole)
    checkWire(wire, without(whole, optional))
    for (const key of optional) checkWire(wire, without(whole, [key]))
  })

  it.each(keys.filter((key) => !optional.includes(key) && key !== 'role'))('is refused without %s', (key) => {
    expect(() => checkWire(wire, without(whole, [key]))).toThrow(bad(`${wire}: the top level lacks "${key}"`))
  })

  it.each(keys.filter((key) => key !== 'role'))('is refused with a %s of another type', (key) => {
    const value = typeof Reflect.get(whole, key) === 'string' ? 7 : '7'
    expect(() => checkWire(wire, { ...whole, [key]: value })).toThrow(
      expect.objectContaining({
        code: 'REGENT_BAD_REQUEST',
        message: expect.stringContaining(`${wire}: ${key} is ${JSON.stringify(value)}; allowed is `) as string,
      }) as Error,
    )
    expect(() => checkWire(wire, { ...whole, [key]: null })).toThrow(
      expect.objectContaining({
        code: 'REGENT_BAD_REQUEST',
        message: expect.stringContaining(`${wire}: ${key} is null; allowed is `) as string,
      }) as Error,
    )
  })

  it('is refused with a key that nobody knows', () => {
    expect(() => checkWire(wire, { ...whole, force: true })).toThrow(
      bad(`${wire}: the top level has the unknown key "force"; allowed are ${keys.join(', ')}`),
    )
  })

  it('is refused when it is of a newer version, whatever else it says, and of one that never was', () => {
    const newer = {
      code: 'REGENT_NEWER_VERSION',
      message: `${wire} has version ${orderVersion + 1}, this agent understands up to ${orderVersion}`,
    }
    expect(() => checkWire(wire, { ...whole, version: orderVersion + 1 })).toThrow(
      expect.objectContaining(newer) as Error,
    )
    expect(() => checkWire(wire, { version: orderVersion + 1, force: true })).toThrow(
      expect.objectContaining(newer) as Error,
    )
    for (const version of [0, -1, 0.5])
      expect(() => checkWire(wire, { ...whole, version })).toThrow(
        bad(`${wire}: version is ${version}; allowed is an integer of at least 1`),
      )
  })

  it.each([undefined, null, '', 'promise', 7, true, [], {}, [whole]])('is refused when it is %j', (body) => {
    expect(() => checkWire(wire, body)).toThrow(
      expect.objectContaining({
        code: 'REGENT_BAD_REQUEST',
        message: expect.stringMatching(new RegExp(`^${wire}: the top level (?:is|lacks) `)) as string,
      }) as Error,
    )
  })
})

describe('an order is refused where', () => {
  const name = 'a text of 1 to 64 characters'
  const port = 'allowed is an integer from 1 to 65535'
  const list = 'allowed is a list'
  const time = 'allowed is a number from 0 to 86400000'
  const rows: readonly (readonly [WireName, object, string])[] = [
    ['assign', { ...primary, acks: 16 }, 'acks is 16; allowed is an integer from 0 to 15'],
    ['assign', { ...primary, acks: -1 }, 'acks is -1; allowed is an integer from 0 to 15'],
    ['assign', { ...primary, acks: 1.5 }, 'acks is 1.5; allowed is an integer from 0 to 15'],
    ['assign', { ...primary, epoch: 0 }, 'epoch is 0; allowed is an integer from 1 to 9007199254740991'],
    [
      'assign',
      { ...primary, epoch: 2 ** 53 },
      'epoch is 9007199254740992; allowed is an integer from 1 to 9007199254740991',
    ],
    ['assign', { ...primary, revision: -1 }, 'revision is -1; allowed is an integer from 0 to 9007199254740991'],
    ['assign', { ...primary, cluster: '' }, `cluster is ""; allowed is ${name}`],
    ['assign', { ...primary, cluster: long(65) }, `cluster is "${long(56)}…; allowed is ${name}`],
    [
      'assign',
      { ...primary, member: 'shop-0' },
      'member is "shop-0"; allowed is a text of 3 to 128 characters that matches ^[^@]+@[^@]+$',
    ],
    [
      'assign',
      { ...primary, member: 'shop-0@v@v' },
      'member is "shop-0@v@v"; allowed is a text of 3 to 128 characters that matches ^[^@]+@[^@]+$',
    ],
    ['assign', { ...primary, donates: false }, 'donates is false; allowed is true'],
    ['assign', { ...primary, counted: [''] }, `counted.0 is ""; allowed is ${name}`],
    [
      'assign',
      { ...primary, counted: new Array(65).fill('shop-1') },
      `counted is ${JSON.stringify(new Array(65).fill('shop-1')).slice(0, 57)}…; ${list}`,
    ],
    [
      'assign',
      { ...primary, countedUuids: { 'shop-1': long(37) } },
      `countedUuids.shop-1 is "${long(37)}"; allowed is a text of 0 to 36 characters`,
    ],
    ['assign', { ...primary, peers: [peer, { ...peer, port: 65_536 }] }, `peers.1.port is 65536; ${port}`],
    [
      'assign',
      { ...primary, peers: [{ ...peer, weight: 1 }] },
      'peers.0 has the unknown key "weight"; allowed are instance, host, port, agent',
    ],
    ['assign', { ...replica, source: { ...peer, port: 0 } }, `source.port is 0; ${port}`],
    ['assign', { ...replica, source: without(peer, ['agent']) }, 'source lacks "agent"'],
    [
      'assign',
      { ...replica, source: { ...peer, host: long(256) } },
      `source.host is "${long(56)}…; allowed is a text of 1 to 255 characters`,
    ],
    [
      'assign',
      { ...replica, sourceHolds: long(8_388_609) },
      `sourceHolds is "${long(56)}…; allowed is a text of 0 to 8388608 characters`,
    ],
    ['assign', { ...replica, role: 'arbiter' }, 'role is "arbiter"; allowed is "replica"'],
    ['assign', without(replica, ['role']), 'the top level lacks "role"'],
    ['promise', { ...promise, waitMs: -1 }, `waitMs is -1; ${time}`],
    ['promise', { ...promise, keepReceiverFrom: '' }, `keepReceiverFrom is ""; allowed is ${name}`],
    ['demote', { ...demote, graceMs: 86_400_001 }, `graceMs is 86400001; ${time}`],
    ['demote', { ...demote, deadlineMs: -0.5 }, `deadlineMs is -0.5; ${time}`],
    ['fetch', { ...fetch, deadlineMs: 1e300 }, `deadlineMs is 1e+300; ${time}`],
    ['fetch', { ...fetch, from: {} }, 'from lacks "instance", "host", "port"'],
    ['reseed', { ...reseed, donor: { ...peer, port: 3306.5 } }, `donor.port is 3306.5; ${port}`],
    [
      'reseed',
      { ...reseed, destroys: long(8_388_609) },
      `destroys is "${long(56)}…; allowed is a text of 0 to 8388608 characters`,
    ],
    ['renounce', { ...renounce, incarnation: '' }, `incarnation is ""; allowed is ${name}`],
    [
      'passwords',
      { ...passwords, generation: 'A2' },
      'generation is "A2"; allowed is a text that matches ^[0-9a-f]{0,64}$',
    ],
    ['passwords', { ...passwords, old: 'forgotten' }, 'old is "forgotten"; allowed is "kept" or "discarded"'],
    ['lease', { ...lease, question: -1 }, 'question is -1; allowed is an integer of at least 0'],
    ['leaseVote', { ...leaseVote, epoch: -1 }, 'epoch is -1; allowed is an integer of at least 0'],
    ['leaseVote', { ...leaseVote, asking: long(65) }, `asking is "${long(56)}…; allowed is ${name}`],
  ]
  it.each(rows.map(([wire, body, complaint]) => [`${wire}: ${complaint}`, wire, body] as const))(
    '%s',
    (message, wire, body) => {
      expect(() => checkWire(wire, body)).toThrow(bad(message))
    },
  )
})

describe('an agent', () => {
  async function anAgent(server: ScriptedServer): Promise<Agent> {
    const parts = await testParts(server)
    const medium = { podUid: '', mounting: '', mount: null, filesystemErrors: null, file: '1:1' }
    return Agent.create({
      ...parts,
      disk: new MemoryDisk(),
      machine: { bootId: async () => 'boot' },
      medium: { read: async () => medium },
      stateFile: 'state',
      log: () => undefined,
    })
  }

  it.each(Object.values(kinds).map(({ wire, whole }) => [wire, whole] as const))(
    'that is told to %s in a way it does not know stores nothing and does nothing',
    async (wire, whole) => {
      const server = new ScriptedServer(aServerState())
      const agent = await anAgent(server)
      const before = agent.observation()
      const { member } = before
      for (const wrong of [
        { ...whole, member, force: true },
        { ...whole, member, epoch: -1 },
        { ...whole, member, version: orderVersion + 1 },
        {},
        null,
      ]) {
        await expect(agent.orders.get(routeOf(wire))?.(wrong)).rejects.toMatchObject({
          code: expect.stringMatching(/^REGENT_(BAD_REQUEST|NEWER_VERSION)$/) as string,
        })
      }
      expect(server.calls).toEqual([])
      expect(agent.observation()).toEqual({
        ...before,
        sequence: before.sequence + 1,
        processSinceMs: expect.any(Number) as number,
      })
      agent.stop()
    },
  )
})
