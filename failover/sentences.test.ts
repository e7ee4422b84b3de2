import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { inPlace, localPlace, type Place } from '#common/errors/commands.ts'
import { catalogue, remedyOf, type ErrorCode } from '#common/errors/error-catalogue.ts'
import { durabilityCases } from '#topology/analysis/cases/durability-cases.ts'
import { primaryCases } from '#topology/analysis/cases/primary-cases.ts'
import { replicasCases } from '#topology/analysis/cases/replicas-cases.ts'
import { serversCases } from '#topology/analysis/cases/servers-cases.ts'
import { standingCases } from '#topology/analysis/cases/standing-cases.ts'
import { aDumpThreadOf } from '#topology/testing.ts'
import { decide } from './decide.ts'
import { spokenIn } from './testing-sentence-corpus.ts'
import { faultsOf, strangeIn } from './testing-sentence-rules.ts'
import {
  aSituation,
  deadServer,
  lostAgent,
  memberElsewhere,
  promised,
  shop1,
  shop2,
  type SituationOverrides,
} from './testing.ts'

const asked = { requests: [{ kind: 'failover', id: 'asked', to: null, acceptLoss: false }] } as const
const fencedPrimary = { notes: { fenced: [{ instance: 'shop-0', keepPrimary: true, wallMs: 0 }] } } as const
const deaf = { reachable: false } as const

/** Of things that are on Kubernetes alone: nobody reads them elsewhere. */
const kubernetesOnly: readonly string[] = [
  'REGENT_LAUNCHER_SILENT',
  'REGENT_BAD_CERTIFICATE',
  'REGENT_DEFINITION_OUTDATED',
]

const said: Readonly<Record<string, readonly [given: SituationOverrides, sentence: string]>> = {
  'a cluster that is well': [{}, 'no action: primary shop-0 is healthy, 2 of 2 replicas in the sync set'],
  'one that has two instances': [
    { shape: { instances: 2 } },
    'no action: primary shop-0 is healthy, 1 of 1 replica in the sync set; the loss of shop-1 would make writes wait',
  ],
  'one whose writes need both replicas': [
    { record: { acks: 2, acksWanted: 2 }, spec: { acks: 2 } },
    'no action: primary shop-0 is healthy, 2 of 2 replicas in the sync set; the loss of either shop-1 or shop-2 would make writes wait',
  ],
  'one whose writes need all of three replicas': [
    { shape: { instances: 4 }, record: { acks: 3, acksWanted: 3 }, spec: { acks: 3 } },
    'no action: primary shop-0 is healthy, 3 of 3 replicas in the sync set; the loss of any of shop-1, shop-2, shop-3 would make writes wait',
  ],
  'a member on a volume that is gone beside its successor, while paused': [
    { record: { syncSet: [shop1, shop2, memberElsewhere] }, notes: { paused: { reason: 'maintenance', wallMs: 0 } } },
    'paused: maintenance; no action: primary shop-0 is healthy, 2 of 2 replicas in the sync set',
  ],
  'a primary that a person fenced': [
    fencedPrimary,
    'no action: primary shop-0 runs and is fenced by a person, 2 of 2 replicas in the sync set',
  ],
  'a primary whose agent is lost': [
    { nowMs: 5_000, views: { 'shop-0': deaf } },
    'no action: the agent of shop-0 is unreachable but shop-1 and shop-2 still hear its server, 2 of 2 replicas in the sync set',
  ],
  'a primary whose agent fell silent this moment': [
    { nowMs: 1_000, views: { 'shop-0': deaf } },
    'no action: the agent of shop-0 is silent since just now, 2 of 2 replicas in the sync set',
  ],
  'a dead primary whose agent and one replica are gone': [
    {
      nowMs: 60_000,
      views: {
        'shop-0': lostAgent,
        'shop-1': lostAgent,
        'shop-2': { server: { channel: { ioRunning: 'connecting' } } },
      },
    },
    'no automatic failover: shop-0 is unreachable for this manager and for shop-2, and 2 members of the sync set must promise and none did; bring back shop-0, shop-1 or, giving up what only they may hold, use: regent failover --accept-loss',
  ],
  'the same, when a person asks for a failover': [
    {
      ...asked,
      nowMs: 60_000,
      views: {
        'shop-0': lostAgent,
        'shop-1': lostAgent,
        'shop-2': { server: { channel: { ioRunning: 'connecting' } } },
      },
    },
    'no failover: shop-0 is unreachable for this manager and for shop-2, and 2 members of the sync set must promise and none did; bring back shop-0, shop-1 or, giving up what only they may hold, use: regent failover --accept-loss',
  ],
  'a dead primary whose writes needed no acknowledgement': [
    { views: { 'shop-0': deadServer }, record: { acks: 0, acksWanted: 0, syncSet: [] }, spec: { acks: 0 } },
    'restarting shop-0 in place: mysqld of shop-0 is dead, and writes needed no acknowledgement, so only the primary’s own agent can say what clients were told',
  ],
  'a primary that has stopped this moment': [
    { views: { 'shop-0': { process: 'stopped', processSinceMs: 0 } } },
    'no action: mysqld of shop-0 is stopped (SIGSTOP) since just now, frozen after 1200 ms, 2 of 2 replicas in the sync set',
  ],
  'a failover': [
    { views: { 'shop-0': deadServer, 'shop-1': promised(), 'shop-2': promised() } },
    'failing over to shop-1, which holds everything acknowledged: mysqld of shop-0 is dead',
  ],
}

describe('what is said of', () => {
  it.each(Object.entries(said))('%s', (_, [given, sentence]) => {
    const views =
      given.shape?.instances === 2 ? { 'shop-0': { server: { dumpThreads: [aDumpThreadOf('shop-1')] } } } : {}
    expect(decide(aSituation({ ...given, views: { ...views, ...given.views } })).sentence).toBe(sentence)
  })
})

const places: readonly Place[] = [localPlace, { kind: 'kubernetes', namespace: 'shops', cluster: 'shop' }]
const casesOfAnalysis = [primaryCases, durabilityCases, replicasCases, serversCases, standingCases].flatMap((cases) =>
  Object.values(cases).flatMap((group) => Object.values(group)),
)
const findings = casesOfAnalysis.flatMap(({ findings: lines }) =>
  lines.map((line) => line.slice(line.indexOf(': ') + 2)),
)

describe.each(places)('everything that is said in a place that is $kind', (place) => {
  const spoken = { ...spokenIn(place), findings: findings.map((sentence) => inPlace(sentence, place)) }

  it.each(Object.entries(spoken))('reads well: %s', (_, sentences) => {
    expect(sentences.length).toBeGreaterThan(2)
    expect(sentences.flatMap((sentence) => faultsOf(sentence).map((fault) => `${fault} in: ${sentence}`))).toEqual([])
  })

  it.each(Object.entries(spoken))('names commands of that place alone: %s', (_, sentences) => {
    expect(sentences.filter((sentence) => strangeIn(sentence, place) !== undefined)).toEqual([])
  })

  it.each(Object.keys(catalogue) as ErrorCode[])('says what to do about %s, with what is there', (code) => {
    const remedy = remedyOf(code, place.kind)
    expect(
      strangeIn(code.startsWith('REGENT_KUBE') || kubernetesOnly.includes(code) ? '' : remedy, place),
    ).toBeUndefined()
    expect(faultsOf(remedy.replace(/\.$/, ''))).toEqual([])
    expect(remedy).toMatch(/^[A-Z][a-z]+( [^ ]+){2,}.*\.$/)
    expect(remedy).not.toMatch(/^(The|It|This|There|Both) |check the log/i)
  })
})

describe('the rules that sentences are held to', () => {
  it.each([
    ['shop-0 is silent for 0 ms'],
    ['it lacks 1 transactions'],
    ['it lacks 2 transaction'],
    ['the set (0) is smaller'],
    ['led by undefined'],
    ['too  many blanks'],
    ['it ends with a dot.'],
    ['shop-1, shop-2 still hear it'],
  ])('find fault with "%s"', (sentence) => {
    expect(faultsOf(sentence)).toHaveLength(1)
  })
})

describe('a command', () => {
  const place = places[1]
  it.each([
    [
      'bring it back or use: regent failover --accept-loss --to shop-1',
      'bring it back or use: kubectl regent failover shop -n shops --accept-loss --to shop-1',
    ],
    ['regent resume first', 'kubectl regent resume shop -n shops first'],
    ['fenced until: regent unfence shop-1', 'fenced until: kubectl regent unfence shop-1 -n shops'],
    ['add one: regent local scale shop 4; then', 'add one: kubectl -n shops scale mysql/shop --replicas 4; then'],
  ])('is turned into what works on Kubernetes, once: %s', (sentence, turned) => {
    expect(inPlace(sentence, place)).toBe(turned)
    expect(inPlace(turned, place)).toBe(turned)
    expect(inPlace(sentence, localPlace)).toBe(sentence)
  })

  it('that the code of both platforms writes into a sentence is one that can be turned', async () => {
    const root = join(import.meta.dirname, '..')
    const names = (
      await Promise.all(
        ['failover', 'topology', 'agents', 'src/manager/loop', 'src/manager/clusters'].map(async (room) =>
          (await readdir(join(root, room), { recursive: true })).map((name) => join(root, room, name)),
        ),
      )
    ).flat()
    const sources = await Promise.all(
      names
        .filter((name) => name.endsWith('.ts') && !/\.test\.ts$|sentence-/.test(name))
        .map((name) => readFile(name, 'utf8')),
    )
    const code = sources.join('\n').replace(/\/\*\*[^]*?\*\/|^\s*\/\/.*$/gm, '')
    const written = code.match(/\bregent [a-z]+ ?[^\s`';,)]*/g) ?? []
    expect(written.length).toBeGreaterThan(10)
    const left = written.filter(
      (command) =>
        !inPlace(
          command.replace(/\$\{[^}]*\}?/, 'shop-1').replace(/^regent local scale.*/, 'regent local scale shop 4'),
          place,
        ).startsWith('kubectl '),
    )
    expect(left).toEqual([])
  })
})
