import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { routerSettings } from '#failover/protocol/router-settings.ts'
import type { FeedListener } from '#manager/loop/agent-feed.ts'
import { gate, nowhere, primarySlot, readSlot, readSlots } from '#router/haproxy-state.ts'
import { managerWordOf } from '#router/manager-word.ts'
import { Router } from '#router/router.ts'
import type { Observation } from '#topology/snapshot/observation.ts'

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

const names = ['shop-0', 'shop-1', 'shop-2'] as const
const hostOf = (at: number) => `10.0.0.${at + 1}`

function eventOf(epoch: number, primary: number): string {
  return JSON.stringify({
    ...{ name: 'shop', epoch, primary: names[primary] },
    instances: names.map((name, at) => ({ name, host: hostOf(at), port: 3306 })),
  })
}

function wordOf(at: number, epoch: number, primary: number): string {
  const isPrimary = at === primary
  const channel = { ioRunning: 'yes', sqlRunning: true, lagSeconds: 0, silentMs: 0, filtered: false }
  return JSON.stringify({
    ...{ version: 1, cluster: 'shop', instance: names[at], process: 'running', silentMs: 0, seedingProgress: null },
    stored: {
      ...{ promise: epoch, seeding: false, filterSeen: false },
      assignment: { epoch, role: isPrimary ? 'primary' : 'replica', fenced: false },
    },
    server: {
      ...{ uuid: `uuid-${at}`, superReadOnly: !isPrimary, readOnly: !isPrimary, offlineMode: false },
      channel: isPrimary ? null : channel,
    },
  })
}

/** What an agent must have said of its instance, word for word, before writes may go there by that epoch. */
function confirms(said: unknown, epoch: number): boolean {
  const wanted = {
    process: 'running',
    stored: { promise: epoch, assignment: { epoch, role: 'primary', fenced: false } },
    server: { readOnly: false, superReadOnly: false, offlineMode: false },
  }
  return isDeepStrictEqual(sameFields(wanted, said), wanted)
}

/** Of a value only what the other has, too. */
function sameFields(model: unknown, value: unknown): unknown {
  if (typeof model !== 'object' || model === null || typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(model).map(([key, inner]) => [key, sameFields(inner, (value as Record<string, unknown>)[key])]),
  )
}

const strange = fc.constantFrom<Json>(null, true, false, 0, -1, 1.5, 1e300, '', 'primary', '2', '; show info', [], {}, [
  null,
])

/** A text that is cut, changed by one sign, or has another value, or none, somewhere in its JSON. */
const damage = fc.oneof(
  fc.record({ kind: fc.constant('none' as const) }),
  fc.record({ kind: fc.constant('cut' as const), at: fc.nat(400) }),
  fc.record({ kind: fc.constant('sign' as const), at: fc.nat(400), sign: fc.string({ minLength: 1, maxLength: 1 }) }),
  fc.record({ kind: fc.constant('value' as const), at: fc.nat(400), value: strange }),
  fc.record({ kind: fc.constant('missing' as const), at: fc.nat(400) }),
)
type Damage = typeof damage extends fc.Arbitrary<infer Kind> ? Kind : never

function damaged(text: string, how: Damage): string {
  if (how.kind === 'none') return text
  const at = how.at % text.length
  if (how.kind === 'cut') return text.slice(0, at)
  if (how.kind === 'sign') return text.slice(0, at) + how.sign + text.slice(at + 1)
  const tree = JSON.parse(text) as Json
  const places = placesIn(tree)
  const [holder, key] = places[at % places.length] ?? [{}, '']
  if (how.kind === 'value') holder[key] = how.value
  else Reflect.deleteProperty(holder, key)
  return JSON.stringify(tree)
}

function placesIn(tree: Json): [Record<string, Json>, string][] {
  if (typeof tree !== 'object' || tree === null) return []
  const holder = tree as Record<string, Json>
  return Object.entries(holder).flatMap(([key, value]) => [
    [holder, key] as [typeof holder, string],
    ...placesIn(value),
  ])
}

const answerFault = fc.oneof(
  fc.constant({ kind: 'none' as const }),
  fc.record({ kind: fc.constant('refuses' as const), every: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ kind: fc.constant('cuts' as const), at: fc.nat(900) }),
  fc.record({
    kind: fc.constant('says' as const),
    words: fc.constantFrom('', '\n', '\0', 'Permission denied\n\n', '1\n'),
  }),
  fc.record({ kind: fc.constant('breaks' as const), after: fc.nat(6) }),
)
type AnswerFault = typeof answerFault extends fc.Arbitrary<infer Kind> ? Kind : never

/** HAProxy as far as its socket shows: what it takes happens, what it refuses does not, and its answers may be lost. */
class Model {
  fault: AnswerFault = { kind: 'none' }
  restarted: () => void = () => undefined
  readonly #slots = new Map<string, { host: string; port: string; state: string; weight: string }>()
  #told = 0

  constructor() {
    this.#begin()
  }

  get leadsTo(): string | undefined {
    return this.#slots.get(gate)?.state === 'ready' ? this.#slots.get(primarySlot)?.host : undefined
  }

  async tell(commands: readonly string[]): Promise<string> {
    const { fault } = this
    if (fault.kind === 'breaks') {
      for (const command of commands.slice(0, fault.after)) this.#do(command)
      throw new Error('the socket is broken')
    }
    const answer = commands
      .map((command) => (this.#refuses(command) ? 'No such server.\n\n' : this.#do(command)))
      .join('')
    if (fault.kind === 'cuts') return answer.slice(0, fault.at)
    return fault.kind === 'says' ? fault.words : answer
  }

  async restart(): Promise<void> {
    this.#begin()
    this.restarted()
  }

  #begin(): void {
    const closed = { host: nowhere.host, port: String(nowhere.port), weight: '100' }
    for (const name of [gate, ...Array.from({ length: readSlots }, (_, at) => readSlot(at))])
      this.#slots.set(name, { ...closed, state: 'maint' })
    this.#slots.set(primarySlot, { ...closed, state: 'ready' })
  }

  /** A question is none; and the last resort, to close the gate, is taken. */
  #refuses(command: string): boolean {
    if (this.fault.kind !== 'refuses' || [`set server ${gate} state maint`, 'show servers state'].includes(command))
      return false
    this.#told += 1
    return this.#told % this.fault.every === 0
  }

  #do(command: string): string {
    if (command === 'show servers state')
      return `${['1', ...[...this.#slots.keys()].map((name) => this.#row(name))].join('\n')}\n\n`
    const [set, , name = '', what = '', value = '', , port = ''] = command.split(' ')
    if (set === 'shutdown') return '\n'
    const slot = this.#slots.get(name)
    if (slot === undefined) return 'No such server.\n\n'
    Object.assign(slot, what === 'addr' ? { host: value, port } : { [what]: value })
    return what === 'addr' ? `IP changed from '' to '${value}' by 'stats socket command'\n\n` : '\n'
  }

  #row(name: string): string {
    const { host, port, state, weight } = this.#slots.get(name) ?? { host: '', port: '', state: '', weight: '' }
    const [backend = '', server = ''] = name.split('/')
    const admin = state === 'maint' ? '1' : state === 'drain' ? '8' : '0'
    return `5 ${backend} 1 ${server} ${host} 2 ${admin} ${weight} 100 3 1 0 0 0 0 0 0 - ${port} - 0 0 - - 0`
  }
}

const epochAndPrimary = { epoch: fc.integer({ min: 1, max: 7 }) }
const undamaged = fc.constant({ kind: 'none' as const })
const haproxyStep = fc.record({ kind: fc.constant('haproxy' as const), fault: answerFault })
const step = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('manager' as const), ...epochAndPrimary, damage }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('agent' as const), at: fc.nat(2), ...epochAndPrimary, damage }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('all' as const), ...epochAndPrimary, damage: undamaged }) },
  { weight: 2, arbitrary: haproxyStep },
)
type Step = typeof step extends fc.Arbitrary<infer Kind> ? Kind : never

/** Each epoch has one primary. */
const primaryOf = (epoch: number): number => epoch % names.length

async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate)
}

function aWorld() {
  const listeners = new Map<string, FeedListener>()
  const said = new Map<string, unknown>()
  const proxy = new Model()
  let highest = 0
  const router = new Router({
    ...{
      cluster: 'shop',
      settings: routerSettings({}),
      proxy,
      nowMs: () => 0,
      told: () => undefined,
      warn: () => undefined,
    },
    feed: {
      follow: (_, { instance }, listener) => {
        listeners.set(instance, listener)
        return () => listeners.delete(instance)
      },
    },
    memory: {
      get highest() {
        return highest
      },
      note: (epoch) => void (highest = Math.max(highest, epoch)),
      forget: () => void (highest = 0),
    },
  })
  proxy.restarted = () => router.look()
  router.setInstances(names.map((name, at) => ({ name, host: hostOf(at), port: 3306, agent: `${hostOf(at)}:9400` })))
  const play = (one: Step): void => {
    if (one.kind === 'haproxy') proxy.fault = one.fault
    else if (one.kind === 'manager')
      router.setRecord(managerWordOf(damaged(eventOf(one.epoch, primaryOf(one.epoch)), one.damage), 'shop'))
    else
      for (const at of one.kind === 'all' ? names.keys() : [one.at])
        hear(at, damaged(wordOf(at, one.epoch, primaryOf(one.epoch)), one.damage))
  }
  const hear = (at: number, text: string): void => {
    const name = names[at] ?? ''
    said.delete(name)
    try {
      said.set(name, JSON.parse(text))
    } catch {
      return listeners.get(name)?.lost('no JSON')
    }
    listeners.get(name)?.heard(said.get(name) as Observation)
  }
  return {
    ...{ router, proxy, play },
    highest: () => highest,
    /** Writes go to an instance whose agent did not confirm that. */
    leadsAstray: () => {
      const at = names.findIndex((_, index) => hostOf(index) === proxy.leadsTo)
      return at >= 0 && !confirms(said.get(names[at] ?? '') ?? {}, highest)
    },
  }
}

it('No damaged word of manager, agents or HAProxy leads a write where no agent confirms the epoch, or stops routing', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 30 }), async (steps) => {
      const world = aWorld()
      for (const one of steps) {
        world.play(one)
        world.router.look()
        await settled()
        // Whoever hears no answer cannot know; as soon as HAProxy is heard again nobody is led astray.
        if (!['none', 'refuses'].includes(world.proxy.fault.kind)) continue
        expect(world.leadsAstray(), JSON.stringify(one)).toBe(false)
        expect(Number.isSafeInteger(world.highest())).toBe(true)
      }
      world.play({ kind: 'haproxy', fault: { kind: 'none' } })
      const epoch = Math.max(8, world.highest() + 1)
      world.play({ kind: 'all', epoch, damage: { kind: 'none' } })
      world.play({ kind: 'manager', epoch, damage: { kind: 'none' } })
      world.router.look()
      await settled()
      if (epoch < Number.MAX_SAFE_INTEGER) expect(world.proxy.leadsTo, 'routing goes on').toBe(hostOf(primaryOf(epoch)))
    }),
    { numRuns: 500 },
  )
})
