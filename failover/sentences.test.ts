import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { clusterVerbs, instanceVerbs, localPlace, type Place } from '#common/sentence/command.ts'
import type { Sentence } from '#common/sentence/sentence.ts'
import { catalogue, remedyOf, type ErrorCode } from '#common/errors/error-catalogue.ts'
import { durabilityCases } from '#topology/analysis/cases/durability-cases.ts'
import { primaryCases } from '#topology/analysis/cases/primary-cases.ts'
import { replicasCases } from '#topology/analysis/cases/replicas-cases.ts'
import { serversCases } from '#topology/analysis/cases/servers-cases.ts'
import { standingCases } from '#topology/analysis/cases/standing-cases.ts'
import { aDumpThreadOf } from '#topology/testing.ts'
import { decide } from './decide.ts'
import { keysSpoken, spoken, spokenIn } from './testing-sentence-corpus.ts'
import { errorsInSource, noticesOfAgents, wordsOfAgents } from '#test/support/notices-in-source.ts'
import { beginningFaultsOf, faultsOf, strangeIn } from './testing-sentence-rules.ts'
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
    'no automatic failover: shop-0 is unreachable for this manager and for shop-2; 2 members of the sync set must promise, none did; bring back shop-0, shop-1, or give up what they hold: regent failover --accept-loss',
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
    'no failover: shop-0 is unreachable for this manager and for shop-2; 2 members of the sync set must promise, none did; bring back shop-0, shop-1, or give up what they hold: regent failover --accept-loss',
  ],
  'a dead primary whose writes needed no acknowledgement': [
    { views: { 'shop-0': deadServer }, record: { acks: 0, acksWanted: 0, syncSet: [] }, spec: { acks: 0 } },
    'restarting shop-0 in place: mysqld of shop-0 is dead, and only its agent knows which writes count',
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
  const spoken = { ...spokenIn(place), ...(place.kind === 'local' ? { findings } : {}) }

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

describe('a sentence', () => {
  const { steps: _steps, refusals: _refusals, ...told } = keysSpoken()
  const sentences: readonly Sentence[] = Object.values(spoken()).flat()

  it('begins with what it is about, and not with a word that stands for that', () => {
    const begun: readonly string[] = Object.values(told).flat()
    expect(begun.flatMap((key) => beginningFaultsOf(key).map((fault) => `${fault}: ${key}`))).toEqual([])
  })

  it('of an agent begins so, too', async () => {
    const notices = await noticesOfAgents()
    expect(notices.length).toBeGreaterThan(60)
    expect(notices.flatMap(({ key }) => beginningFaultsOf(key).map((fault) => `${fault}: ${key}`))).toEqual([])
    expect(notices.flatMap(({ key }) => faultsOf(key))).toEqual([])
  })

  it('of an agent about itself, or by which it refuses, begins so, too', async () => {
    const { course, refusal } = await wordsOfAgents()
    expect(course.length).toBeGreaterThan(40)
    expect(refusal.length).toBeGreaterThan(50)
    const all = [...course, ...refusal]
    expect(all.flatMap((key) => beginningFaultsOf(key).map((fault) => `${fault}: ${key}`))).toEqual([])
    expect(all.flatMap((key) => faultsOf(key).map((fault) => `${fault}: ${key}`))).toEqual([])
  })

  it('of an error has nothing left out', async () => {
    const errors = await errorsInSource()
    expect(errors.length).toBeGreaterThan(600)
    const dots = (fault: string): boolean => fault.startsWith('a dot at the end')
    expect(errors.flatMap(({ key }) => faultsOf(key).filter((fault) => !dots(fault)))).toEqual([])
  })

  it.each([
    'it waits for shop-0',
    'there is nothing',
    'when shop-0 is dead, writes stop',
    'waiting until somebody comes',
  ])('that begins otherwise is found: %s', (key) => {
    expect(beginningFaultsOf(key)).toHaveLength(1)
  })

  it('that is joined of several has at most 160 characters that do not change, too', () => {
    const long = sentences.filter((sentence) => fixedWordsOf(sentence).length > 160)
    expect([...new Set(long.map(({ key }) => key))]).toEqual([])
  })

  it('says of nothing at all that there is nothing, and not "0 of 0"', () => {
    expect(sentences.map(String).filter((sentence) => /\b0 of 0\b/.test(sentence))).toEqual([])
  })

  it('has names where names are said, and no prose: prose is a sentence within', () => {
    const parts = sentences.flatMap((sentence) => sentence.parts)
    const names = new Set(parts.flatMap((part) => (part.kind === 'name' ? [part.text] : [])))
    const lists = /, | and | or |^either |^any of /
    expect([...names].filter((name) => name.split(lists).some((word) => word.includes(' ')))).toEqual([])
  })
})

describe('the fixed words of every sentence in the code', () => {
  it('are at most 160 characters', async () => {
    const said = (await sourcesOf(['failover', 'topology', 'agents', 'src'])).flatMap(wordsSaidIn)
    expect(said.length).toBeGreaterThan(1_500)
    expect(said.filter((words) => words.length > 160)).toEqual([])
  })

  it('name no command: a command is a part, printed for the place where the sentence is read', async () => {
    const rooms = ['failover', 'topology', 'agents', 'src/manager', 'src/common', 'src/cli/connection']
    const code = withoutComments((await sourcesOf(rooms)).join('\n'))
    const verbs = [...clusterVerbs, ...instanceVerbs, 'local scale'].join('|')
    expect(code.match(new RegExp(`\\bregent (${verbs})\\b.*`, 'g')) ?? []).toEqual([])
  })
})

/** The fixed words of a whole sentence, sentences within among them, and commands without their names. */
function fixedWordsOf({ parts }: Sentence): string {
  return parts.map((part) => (part.kind === 'words' ? part.text : part.kind === 'command' ? part.verb : '')).join('')
}

async function sourcesOf(rooms: readonly string[]): Promise<readonly string[]> {
  const root = join(import.meta.dirname, '..')
  const names = await Promise.all(
    rooms.map(async (room) =>
      (await readdir(join(root, room), { recursive: true })).map((name) => join(root, room, name)),
    ),
  )
  const isProduct = (name: string): boolean => name.endsWith('.ts') && !/\.test\.ts$|testing|\/cases\//.test(name)
  return Promise.all(
    names
      .flat()
      .filter(isProduct)
      .map((name) => readFile(name, 'utf8')),
  )
}

/** Of each sentence in a source the words that do not change, without those of sentences within. */
function wordsSaidIn(source: string): readonly string[] {
  const found: string[] = []
  const note = (_: string, words: string): string => {
    found.push(words)
    return ''
  }
  // What is innermost first: a part without a sentence, then a sentence without parts.
  for (let left = withoutComments(source), before = ''; left !== before;) {
    before = left
    left = left.replace(/\$?\{[^{}`]*\}/g, '').replace(/\bsay`([^`{]*)`/g, note)
  }
  return found
}

function withoutComments(code: string): string {
  return code.replace(/\/\*\*[^]*?\*\/|^\s*\/\/.*$/gm, '')
}
