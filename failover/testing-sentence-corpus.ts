import type { ViewOverrides } from '#topology/testing.ts'
import { aDumpThreadOf, gtids } from '#topology/testing.ts'
import type { Place } from '#common/sentence/command.ts'
import { printed, Sentence } from '#common/sentence/sentence.ts'
import { modeOf } from './decide.ts'
import { planReplace } from './flows/replace.ts'
import { planScale } from './flows/scaling.ts'
import { groupSituations } from './group/testing-sentences.ts'
import {
  aSituation,
  deadServer,
  lostAgent,
  memberElsewhere,
  promised,
  promisedAsPrimary,
  shop1,
  shop2,
  switchoverIntent,
  type SituationOverrides,
} from './testing.ts'

/**
 * Situations for tests of the wording alone: what can be so of a primary, of replicas and of a cluster, each with each,
 * with values that are hard to say (nothing, one, two, this moment).
 */
const lostLink: ViewOverrides = {
  server: { channel: { ioRunning: 'connecting', ioError: 'error connecting to source' } },
}
const errant: ViewOverrides = { server: { executed: `${gtids('shop-0', 100)},${gtids('shop-1', 1)}` } }

const primaries: Readonly<Record<string, ViewOverrides>> = {
  'a primary that is well': {},
  'a dead primary': { ...deadServer, processNote: 'mysqld 11 was ended by SIGKILL' },
  'a primary that died this moment': { ...deadServer, processSinceMs: 0 },
  'a primary that was never started': {
    process: 'absent',
    processSinceMs: 0,
    server: null,
    processNote: 'mysqld was never started here',
  },
  'a primary that starts': { process: 'starting', processSinceMs: 0, server: null },
  'a primary that does not come up': { process: 'starting', processSinceMs: 10_000_000, server: null },
  'a primary that stopped this moment': { process: 'stopped', processSinceMs: 0 },
  'a frozen primary': { process: 'stopped', processSinceMs: 1_300 },
  'a primary that does not answer': { silentMs: 1, probe: 'stuck' },
  'a primary that hangs': { silentMs: 60_000, probe: 'stuck' },
  'a primary on a read-only file system': { probe: 'readOnlyFilesystem', probeDetail: 'EROFS' },
  'a primary that lacks one': { lacksElected: gtids('shop-1', 1) },
  'a primary that lacks two': { lacksElected: gtids('shop-1', 2) },
  'a primary that is not open yet': {
    converged: { revision: 1, done: false, sentence: 'waits for its marker to be acknowledged' },
  },
  'a primary whose agent is silent': { reachable: false },
  'a primary that was demoted and whose agent is silent': { ...promisedAsPrimary(), ...lostAgent },
  'a primary of which nothing was ever heard': { unheard: true },
  'a primary whose volume went back in time': { past: 'shop-0@volume-0' },
}

const replicas: Readonly<Record<string, Readonly<Record<string, ViewOverrides>>>> = {
  'two good replicas': {},
  'one dead replica': { 'shop-1': deadServer },
  'two dead replicas': { 'shop-1': deadServer, 'shop-2': deadServer },
  'two silent replicas': { 'shop-1': lostAgent, 'shop-2': lostAgent },
  'one silent replica and one without a link': { 'shop-1': lostAgent, 'shop-2': lostLink },
  'two replicas without a link': { 'shop-1': lostLink, 'shop-2': lostLink },
  'one that promised': { 'shop-1': promised() },
  'two that promised': { 'shop-1': promised(), 'shop-2': promised() },
  'one that promised and is behind by one': { 'shop-1': promised(99), 'shop-2': promised() },
  'an errant replica': { 'shop-1': errant },
  'a replica that is seeded': {
    'shop-1': {
      stored: { seeding: true },
      process: 'absent',
      server: null,
      seedingProgress: { stage: 'FILE COPY', percent: 0, donor: 'shop-2' },
    },
  },
  'a replica whose donor is gone': {
    'shop-1': {
      stored: { seeding: true },
      process: 'absent',
      server: null,
      seedingProgress: { stage: 'FILE COPY', percent: 0, donor: 'shop-2', stillMs: 31_000 },
    },
    'shop-2': lostAgent,
  },
  'one left that is in doubt': {
    'shop-1': lostAgent,
    'shop-2': { stored: { filterSeen: true }, server: { channel: { ioRunning: 'connecting', silentMs: null } } },
  },
  'replicas that are behind': {
    'shop-1': { server: { channel: { lagSeconds: 1, backlogTransactions: 1 } } },
    'shop-2': { server: { channel: { lagSeconds: 600, backlogTransactions: 2 } } },
  },
}

const accept = { kind: 'failover', id: 'asked', to: null, acceptLoss: true } as const
const clusters: Readonly<Record<string, SituationOverrides>> = {
  'as by default': {},
  paused: { notes: { paused: { reason: 'maintenance', wallMs: 0 } } },
  'without automatic failover': { spec: { failover: { ...aSituation().spec.failover, automatic: false } } },
  'with its budget spent': { notes: { automaticFailovers: [999_000, 999_500, 999_900] } },
  'with its primary fenced': { notes: { fenced: [{ instance: 'shop-0', keepPrimary: true, wallMs: 0 }] } },
  'asked to fail over': { requests: [{ ...accept, acceptLoss: false }] },
  'asked to fail over with loss': { requests: [accept] },
  'asked to fail over to shop-2': { requests: [{ ...accept, to: 'shop-2', acceptLoss: false }] },
  'asked to fail over with loss to shop-2': { requests: [{ ...accept, to: 'shop-2' }] },
  'with acknowledgements of both': { record: { acks: 2, acksWanted: 2 }, spec: { acks: 2 } },
  'with no acknowledgement': { record: { acks: 0, acksWanted: 0, syncSet: [] }, spec: { acks: 0 } },
  'with one that counts': { record: { syncSet: [shop1] } },
  'with a member of before': { record: { syncSet: [shop1, shop2, memberElsewhere] } },
  'in a switchover': { record: { intent: switchoverIntent() } },
  'in a switchover of another manager': { record: { intent: switchoverIntent({ by: 'another' }) } },
  'scaled to one': { notes: { instances: 1 } },
  'with damaged notes': { notesDamage: 'notes of shop are damaged' },
}

const shapes: Readonly<Record<string, SituationOverrides>> = {
  'one instance': { shape: { instances: 1 }, record: { acks: 0, acksWanted: 0 } },
  'two instances': { shape: { instances: 2 } },
  'five instances': { shape: { instances: 5 } },
  'five instances of which three are silent': {
    shape: { instances: 5 },
    nowMs: 60_000,
    views: { 'shop-0': lostAgent, 'shop-1': lostAgent, 'shop-2': lostAgent },
  },
}

function situations(): readonly SituationOverrides[] {
  const three = Object.values(primaries).flatMap((primary) =>
    Object.values(replicas).flatMap((others) =>
      Object.values(clusters).flatMap((cluster) =>
        [1_100, 60_000].map((nowMs) => ({ ...cluster, nowMs, views: { 'shop-0': primary, ...others } })),
      ),
    ),
  )
  const others = Object.values(shapes).flatMap((shape) =>
    Object.values(primaries).map((primary) => {
      const dumpThreads = Array.from({ length: (shape.shape?.instances ?? 1) - 1 }, (_, at) =>
        aDumpThreadOf(`shop-${at + 1}`),
      )
      const server = primary.server === null ? null : { dumpThreads, ...primary.server }
      return { ...shape, views: { 'shop-0': { ...primary, server }, ...shape.views } }
    }),
  )
  return [...three, ...others]
}

export interface Spoken<S = Sentence> {
  readonly decisions: readonly S[]
  readonly reasons: readonly S[]
  readonly analyses: readonly S[]
  readonly commits: readonly S[]
  readonly refusals: readonly S[]
  readonly steps: readonly S[]
}

let said: Spoken | undefined

/** All that is said in these situations. */
export function spoken(): Spoken {
  return (said ??= speak())
}

function speak(): Spoken {
  const inputs = [...situations().map((given) => aSituation(given)), ...groupSituations()]
  const all = [...inputs, ...inputs.map((input) => ({ ...input, record: undefined }))]
  const decided = all.map((input) => modeOf(input.spec).decide(input))
  const plans: readonly object[] = inputs.flatMap((input) => [
    ...[null, 'shop-1', 'shop-2'].map((to) => modeOf(input.spec).planSwitchover(input, to)),
    ...['shop-0', 'shop-1'].flatMap((instance) =>
      [true, false].map((acceptLoss) => planReplace(input, instance, acceptLoss, modeOf(input.spec))),
    ),
    ...[1, 2, 3, 4].map((count) => planScale(input, count, modeOf(input.spec))),
    modeOf(input.spec).planForcedBootstrap({ ...input, record: undefined }, 'shop-1'),
  ])
  return {
    decisions: decided.map(({ sentence }) => sentence),
    reasons: decided.flatMap(({ reasons }) => reasons),
    analyses: all.flatMap((input) =>
      modeOf(input.spec)
        .analyse(input)
        .map(({ sentence }) => sentence),
    ),
    commits: decided.flatMap(({ actions }) =>
      actions.flatMap((action) => (action.kind === 'commit' ? [action.why] : [])),
    ),
    refusals: plans.flatMap((plan) => sentencesIn(plan, ['refusal', 'givenUp', 'loss'])),
    steps: plans.flatMap((plan) => sentencesIn(plan, ['steps'])),
  }
}

/** …, each once, in the words of that place. */
export function spokenIn(place: Place): Spoken<string> {
  return each(spoken(), (sentence) => printed(sentence, place))
}

/** …, each once, without what changes. */
export function keysSpoken(): Spoken<string> {
  return each(spoken(), ({ key }) => key)
}

function each(all: Spoken, print: (sentence: Sentence) => string): Spoken<string> {
  const lists = Object.entries(all) as [keyof Spoken, readonly Sentence[]][]
  return Object.fromEntries(
    lists.map(([kind, said]) => [kind, [...new Set(said.map(print))].sort()]),
  ) as unknown as Spoken<string>
}

function sentencesIn(plan: object, keys: readonly string[]): readonly Sentence[] {
  const named = Object.entries(plan).filter(([key]) => keys.includes(key)) as [string, unknown][]
  return named.flatMap(([, value]): readonly unknown[] => [value].flat()).filter((value) => value instanceof Sentence)
}
