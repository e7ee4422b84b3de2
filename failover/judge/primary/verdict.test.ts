import { describe, expect, it } from 'vitest'
import { callsForFailover, judgePrimary, type VerdictKind } from './verdict.ts'
import { gtids, hostOf, type ViewOverrides } from '#topology/testing.ts'
import { aSituation, deadServer, promised, uncounted, type SituationOverrides } from '#failover/testing.ts'

/** Long after the primary was last heard (1,000). */
const later = { nowMs: 5_000 }
const deaf = { server: { channel: { ioRunning: 'connecting', silentMs: null } } } as const
const fallenSilent = { server: { channel: { silentMs: 3_000 } } } as const
/** By its own agent. */
const stopped = { server: { channel: { ioRunning: 'no', silentMs: null } } } as const
const passedOver = (): ViewOverrides => ({
  ...stopped,
  stored: { assignment: { ...uncounted, counted: true, passedOver: true } },
})

const copied = (stillMs: number): ViewOverrides => ({
  ...stopped,
  seedingProgress: { stage: 'copying', percent: 40, donor: 'shop-0', stillMs },
})

const cases: Readonly<
  Record<string, readonly [kind: VerdictKind, given: SituationOverrides, says: string, witnesses?: readonly string[]]>
> = {
  'its agent says that it is healthy': ['well', {}, 'shop-0 is healthy', ['its own agent']],
  'its mysqld ended': [
    'dead',
    { views: { 'shop-0': { ...deadServer, processNote: 'killed by SIGKILL' } } },
    'mysqld of shop-0 is dead: killed by SIGKILL',
    ['its own agent'],
  ],
  'the kernel is tearing it down': [
    'dead',
    { views: { 'shop-0': { process: 'exiting' } } },
    'mysqld of shop-0 is dead',
  ],
  'it was never started': [
    'dead',
    { views: { 'shop-0': { process: 'absent', server: null } } },
    'mysqld of shop-0 is dead',
  ],
  'it starts': [
    'starting',
    { views: { 'shop-0': { process: 'starting', processSinceMs: 500, server: null } } },
    'is starting',
  ],
  'it starts for too long': [
    'dead',
    { views: { 'shop-0': { process: 'starting', processSinceMs: 60_000, server: null } } },
    'did not come up within 60 s',
  ],
  'it runs and has not answered yet': [
    'starting',
    { views: { 'shop-0': { server: null, processSinceMs: 900 } } },
    'has not answered yet',
  ],
  'it runs and never answered': [
    'dead',
    { views: { 'shop-0': { server: null, processSinceMs: 60_000 } } },
    'has not answered within 60 s',
  ],
  'it is stopped, for a moment': [
    'unknown',
    { views: { 'shop-0': { process: 'stopped', processSinceMs: 300 } } },
    'frozen after 1200 ms',
  ],
  'it is stopped': [
    'frozen',
    { views: { 'shop-0': { process: 'stopped', processSinceMs: 1_300 } } },
    'is stopped (SIGSTOP) for 1300 ms',
    ['its own agent'],
  ],
  'neither admin interface nor write probe answers': [
    'frozen',
    { views: { 'shop-0': { silentMs: 1_400, probe: 'stuck' } } },
    'does not answer for 1400 ms',
  ],
  'only the admin interface does not answer': [
    'well',
    { views: { 'shop-0': { silentMs: 1_400, probe: 'ok' } } },
    'healthy',
  ],
  'it lets nobody in, and a session that was open goes on': [
    'frozen',
    { views: { 'shop-0': { silentMs: 30_000, probe: 'ok' } } },
    'has let nobody in for 30 s',
    ['its own agent'],
  ],
  'it has let nobody in for less than that': [
    'well',
    { views: { 'shop-0': { silentMs: 29_999, probe: 'ok' } } },
    'healthy',
  ],
  'a lock was seen, and it has let nobody in since': [
    'frozen',
    { views: { 'shop-0': { silentMs: 30_000, probe: 'locked' } } },
    'has let nobody in for 30 s',
    ['its own agent'],
  ],
  'logins that wait have used up its connections': [
    'frozen',
    { views: { 'shop-0': { silentMs: 30_000, probe: 'tooManyConnections' } } },
    'has let nobody in for 30 s',
    ['its own agent'],
  ],
  'it is far, and connections that ran out keep its agent out': [
    'well',
    { views: { 'shop-0': { silentMs: 30_000, probe: 'tooManyConnections', reachedBy: 'ssh' } } },
    'healthy',
  ],
  'a full disk keeps it from answering': [
    'well',
    { views: { 'shop-0': { silentMs: 30_000, probe: 'diskFull' } } },
    'healthy',
  ],
  'it is far, and lets nobody in': [
    'frozen',
    { views: { 'shop-0': { silentMs: 30_000, probe: 'ok', reachedBy: 'ssh' } } },
    'has let nobody in for 30 s',
    ['its own agent'],
  ],
  'it is far, lets nobody in, and only SQL reaches it': [
    'well',
    { views: { 'shop-0': { silentMs: 30_000, probe: 'ok', reachedBy: 'sql' } } },
    'healthy',
  ],
  'its file system is read-only': [
    'dead',
    { views: { 'shop-0': { probe: 'readOnlyFilesystem', probeDetail: 'errno 30' } } },
    'read-only: errno 30',
  ],
  'its disk is full': ['well', { views: { 'shop-0': { probe: 'diskFull' } } }, 'healthy'],
  'a global lock holds its writes': ['well', { views: { 'shop-0': { probe: 'locked' } } }, 'healthy'],
  'its connections ran out': ['well', { views: { 'shop-0': { probe: 'tooManyConnections' } } }, 'healthy'],
  'writes wait for acknowledgements': [
    'well',
    { views: { 'shop-0': { server: { semiSyncSource: { waiting: 5 } } } } },
    'healthy',
  ],
  'its agent is silent for a moment': [
    'unknown',
    { nowMs: 1_900, views: { 'shop-0': { reachable: false } } },
    'silent for 900 ms',
  ],
  'its agent is gone and replicas hear the server': [
    'agentLost',
    { ...later, views: { 'shop-0': { reachable: false }, 'shop-1': deaf } },
    'shop-2 still hears its server',
  ],
  'its agent is gone and replicas lost the server': [
    'dead',
    { ...later, views: { 'shop-0': { reachable: false }, 'shop-1': deaf, 'shop-2': fallenSilent } },
    'unreachable for this manager and for shop-1 and shop-2',
    ['this manager', 'shop-1', 'shop-2'],
  ],
  'its agent is gone and nobody can testify': [
    'unknown',
    { ...later, views: { 'shop-0': { reachable: false }, 'shop-1': { reachable: false }, 'shop-2': deadServer } },
    'no replica can testify',
    ['this manager'],
  ],
  'a replica that was told to follow another is no witness': [
    'unknown',
    {
      ...later,
      views: {
        'shop-0': { reachable: false },
        'shop-1': { ...deaf, follows: 'shop-2' },
        'shop-2': { reachable: false },
      },
    },
    'no replica can testify',
  ],
  'a replica that waits for its copy is no witness': [
    'unknown',
    {
      ...later,
      views: {
        'shop-0': { reachable: false },
        'shop-1': { reachable: false },
        'shop-2': {
          server: { channel: null },
          stored: {
            assignment: {
              epoch: 1,
              revision: 1,
              role: 'replica',
              counted: false,
              fenced: false,
              source: 'shop-0',
              sourceReady: false,
            },
          },
        },
      },
    },
    'no replica can testify',
  ],
  'a member that fetches from another one under its promise does not hear it': [
    'dead',
    {
      ...later,
      views: {
        'shop-0': { reachable: false },
        'shop-1': promised(99, { server: { channel: { sourceHost: hostOf('shop-2'), silentMs: 10 } } }),
        'shop-2': promised(100, { server: { channel: { ioRunning: 'no', silentMs: null } } }),
      },
    },
    'unreachable for this manager and for shop-1 and shop-2',
  ],
  'a replica that stands by, since it was passed over, is no witness': [
    'unknown',
    { ...later, shape: { instances: 2 }, views: { 'shop-0': { reachable: false }, 'shop-1': passedOver() } },
    'no replica can testify',
  ],
  'a replica that was passed over, and has promised since, was one': [
    'dead',
    {
      ...later,
      shape: { instances: 2 },
      views: { 'shop-0': { reachable: false }, 'shop-1': promised(100, passedOver()) },
    },
    'unreachable for this manager and for shop-1',
  ],
  'a member that takes a copy beside what it has is no witness': [
    'unknown',
    { ...later, shape: { instances: 2 }, views: { 'shop-0': { reachable: false }, 'shop-1': copied(29_999) } },
    'no replica can testify',
  ],
  'nothing comes for long to a member that takes a copy of it': [
    'dead',
    { ...later, shape: { instances: 2 }, views: { 'shop-0': { reachable: false }, 'shop-1': copied(30_000) } },
    'unreachable for this manager and for shop-1',
  ],
  'replicas stand by, since nothing tells what they hold or because of errant transactions: no witnesses': [
    'unknown',
    {
      ...later,
      views: {
        'shop-0': { reachable: false },
        'shop-1': { ...stopped, stored: { gtidsReset: true } },
        'shop-2': { ...stopped, errantTold: gtids('shop-2', 1), stored: { assignment: uncounted } },
      },
    },
    'no replica can testify',
  ],
  'a member that was to connect once it had set its gates is one': [
    'dead',
    {
      ...later,
      views: {
        'shop-0': { reachable: false },
        'shop-1': { reachable: false },
        'shop-2': {
          ...deaf,
          stored: {
            assignment: {
              epoch: 1,
              revision: 1,
              role: 'replica',
              counted: true,
              fenced: false,
              source: 'shop-0',
              sourceReady: false,
            },
          },
        },
      },
    },
    'unreachable for this manager and for shop-2',
  ],
  'this manager never heard its agent': [
    'dead',
    { ...later, views: { 'shop-0': { unheard: true }, 'shop-1': deaf, 'shop-2': deaf } },
    'unreachable for this manager',
  ],
  'this manager has just begun to listen': [
    'unknown',
    { nowMs: 700, views: { 'shop-0': { unheard: true }, 'shop-1': deaf, 'shop-2': deaf } },
    'silent for 700 ms',
  ],
  'the instance lives on another volume': [
    'dead',
    { views: { 'shop-0': { member: 'shop-0@other' } } },
    'gone or lives on another volume',
    ['the platform'],
  ],
}

describe('the verdict on the primary when', () => {
  it.each(Object.entries(cases))('%s', (_, [kind, given, says, witnesses]) => {
    const verdict = judgePrimary(aSituation(given))
    expect(verdict.kind).toBe(kind)
    expect(String(verdict.sentence)).toContain(says)
    if (witnesses) expect(verdict.witnesses).toEqual(witnesses)
    expect(callsForFailover(verdict)).toBe(kind === 'dead' || kind === 'frozen')
  })
})

it('asks to be looked at again when a silence or a freeze would be long enough', () => {
  expect(judgePrimary(aSituation({ nowMs: 1_900, views: { 'shop-0': { reachable: false } } })).revisitMs).toBe(300)
  expect(judgePrimary(aSituation({ views: { 'shop-0': { process: 'stopped', processSinceMs: 300 } } })).revisitMs).toBe(
    900,
  )
})
