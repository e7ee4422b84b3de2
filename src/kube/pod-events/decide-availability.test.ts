import { describe, expect, it } from 'vitest'
import { labels } from '../names/names.ts'
import { statefulSets, type Pod } from '../pods/stateful-set.ts'
import { availabilityPolicyIn, type AvailabilityPolicy } from './availability-policy.ts'
import type { Owner } from './component.ts'
import { decideAvailability, lookAgainMs, type AvailabilityQuestion } from './decide-availability.ts'
import type { PodDecision } from './decision.ts'
import { marks } from './marks.ts'
import { phaseOf } from './phase.ts'
import type { PodEvent } from './pod-event.ts'
import { reportPeriodSeconds } from './report-period.ts'
import { aMember, anOwner, momentOf, said, type SaidShape } from './testing-component.ts'
import { wantedOf } from './wanted.ts'

const place = { resource: statefulSets, key: { namespace: 'shops', name: 'db' }, uid: 'set-1' }
const three = [aMember(0), aMember(1), aMember(2)]
/** 100 seconds after midnight. */
const nowMs = Date.parse(momentOf(100))

function word(ordinal: number, shape: SaidShape = {}): PodEvent {
  const { code = 0, message = '' } = shape
  return said(ordinal, 'availableProbe', { instance: 'db', probe: 'availableProbe', code, message }, shape)
}

const templated = { replicas: 2, instances: [{ name: 'large' }], offlineInstances: ['db-0'] }
const running = { replicas: 3, readyReplicas: 3, updatedReplicas: 3 }

function asked(policy?: AvailabilityPolicy | string, owner: Partial<Owner> = {}): Owner {
  const text = typeof policy === 'object' ? JSON.stringify(policy) : policy
  return { ...anOwner(text === undefined ? {} : { [marks.availability]: text }), status: running, ...owner }
}

function judged(question: Partial<AvailabilityQuestion>): PodDecision {
  return decideAvailability({ place, owner: asked(), pods: three, events: [], nowMs, ...question })
}

/** The condition that is written. */
function conditionIn({ changes }: PodDecision): Record<string, string> {
  const [change] = changes.map(({ patch }) => patch['metadata'] as { annotations: Record<string, string> })
  return JSON.parse(change?.annotations[marks.available] ?? '{}') as Record<string, string>
}

const shownOf = (decision: PodDecision) => {
  const { status, reason, message } = conditionIn(decision)
  return `${status} ${reason}: ${message}`
}

describe('A component of which nobody asks', () => {
  it('shows no condition', () => {
    expect(judged({})).toMatchObject({ changes: [], reason: 'AvailabilityNotAsked' })
  })

  it('shows none where Regent governs it: its resource tells', () => {
    const { metadata } = anOwner()
    const owner = { ...anOwner(), metadata: { ...metadata, labels: { [labels.cluster]: 'shop' } } }
    expect(judged({ owner, events: [word(0)] })).toMatchObject({ changes: [], reason: 'AvailabilityNotAsked' })
  })

  it('loses the one that was shown before', () => {
    const owner = anOwner({ [marks.available]: '{}' })
    expect(judged({ owner }).changes).toMatchObject([
      { patch: { metadata: { annotations: { [marks.available]: null } } } },
    ])
  })
})

describe('Probes', () => {
  it('of all replicas must succeed where pods report them and no policy is written', () => {
    const events = [word(0, { at: 60 }), word(1, { at: 70 }), word(2, { at: 80 })]
    const decision = judged({ events })
    expect(shownOf(decision)).toBe('True Available: 3 of 3 pods were heard in time, 3 of them with success')
    expect(conditionIn(decision)).toMatchObject({ type: 'Available', lastTransitionTime: '2026-01-01T00:01:40.000Z' })
    expect(decision).toMatchObject({ weight: 'news', reason: 'Available' })
    expect(shownOf(judged({ events: events.slice(1) }))).toBe(
      'False ProbeCheckFail: 2 of 3 pods were heard in time, 2 of them with success',
    )
  })

  it('of pods that are no longer wanted count for nothing, also while these are still there', () => {
    const events = [word(0), word(1), word(2, { code: -1 })]
    const scaledIn = asked(undefined, { spec: { replicas: 2 } })
    expect(shownOf(judged({ owner: scaledIn, events }))).toBe(
      'True Available: 2 of 2 pods were heard in time, 2 of them with success',
    )
    const started = asked(undefined, { spec: { replicas: 2, ordinals: { start: 1 } } })
    expect(shownOf(judged({ owner: started, events }))).toBe(
      'False ProbeCheckFail: 2 of 2 pods were heard in time, 1 of them with success',
    )
  })

  it.each<[string, NonNullable<Owner['spec']>, string]>([
    ['two replicas', { replicas: 2 }, 'db-0 db-1'],
    ['one of them offline', { replicas: 2, offlineInstances: ['db-0'] }, 'db-1 db-2'],
    ['templates: all that are neither offline nor being deleted', templated, 'db-1 db-2'],
  ])('of an InstanceSet with %s are %s', (_what, spec, names) => {
    const gone = aMember(3, { metadata: { deletionTimestamp: 'x' } })
    const owner = { ...anOwner({}, spec), kind: 'InstanceSet' }
    const wanted = wantedOf(owner, [...three, gone])
    expect(wanted.map(({ metadata }) => metadata.name).join(' ')).toBe(names)
  })

  it('of a policy decide alone, whatever it says of phases and roles', () => {
    const owner = asked({ withPhases: 'Stopped', withRole: 'x', withProbe: { condition: { any: { succeed: true } } } })
    expect(shownOf(judged({ owner, events: [word(0), word(1, { code: -1 })] }))).toMatch(/^True Available/)
  })

  it('are described in the policy’s own words', () => {
    const owner = asked({ withProbe: { condition: { all: { succeed: true } }, description: 'a quorum answers' } })
    expect(shownOf(judged({ owner, events: [word(0, { code: -1 })] }))).toBe(
      'False ProbeCheckFail: a quorum answers: 1 of 3 pods were heard in time, 0 of them with success',
    )
  })

  it('count within the window only, by the time of the last repeat, and are looked at again when the first one is over', () => {
    const owner = asked({ withProbe: { timeWindowSeconds: 30, condition: { majority: { succeed: true } } } })
    const repeated = word(0, { at: 10, event: { eventTime: momentOf(95), lastTimestamp: momentOf(10), count: 6 } })
    const decision = judged({ owner, events: [repeated, word(1, { at: 80 }), word(2, { at: 69 })] })
    expect(shownOf(decision)).toMatch(/^True Available: 2 of 3/)
    expect(decision.againAfterMs).toBe(10_000)
    const later = judged({ owner, events: [repeated, word(1, { at: 80 })], nowMs: nowMs + 10_000 })
    expect(shownOf(later)).toMatch(/^False ProbeCheckFail: 1 of 3/)
  })

  it('of a clock that is ahead are looked at again within a window', () => {
    expect(judged({ events: [word(0, { at: 3_600 })] }).againAfterMs).toBe(120_000)
  })

  it('count as each pod said last, in whatever order it is heard', () => {
    const owner = asked({ withProbe: { condition: { all: { succeed: true } } } })
    const events = [word(0, { at: 60 }), word(0, { at: 90, code: -1 })]
    for (const order of [events, events.toReversed()])
      expect(shownOf(judged({ owner, events: order }))).toMatch(/^False ProbeCheckFail: 1 of 3/)
  })

  it.each<[string, PodEvent]>([
    ['an earlier pod of that name', word(0, { uid: 'uid-old' })],
    ['a pod that is gone', word(7)],
    ['what is no JSON', word(0, { event: { message: 'x' } })],
  ])('of %s count for nothing', (_what, event) => {
    expect(shownOf(judged({ events: [event] }))).toMatch(/^False ProbeCheckFail: 0 of 3/)
  })
})

describe('Phases and roles', () => {
  it.each<[AvailabilityPolicy, readonly Pod[], string]>([
    [{ withPhases: 'Running' }, three, 'True Available: the phase is Running'],
    [{ withPhases: 'creating, running' }, three, 'True Available: the phase is Running'],
    [{ withPhases: 'Stopped' }, three, 'False PhaseCheckFail: the phase is Running, and not stopped'],
    [{ withRole: 'primary' }, three, 'False RoleCheckFail: the role primary is not present'],
    [{ withRole: 'Primary' }, [aMember(0, { role: 'primary' })], 'True Available: the role Primary is present'],
    [
      { withPhases: 'Running', withRole: 'primary' },
      [aMember(0, { role: 'secondary' })],
      'False RoleCheckFail: the role primary is not present',
    ],
    [
      { withRole: 'primary' },
      [aMember(0, { metadata: { labels: { 'kubeblocks.io/role': 'primary' }, deletionTimestamp: 'x' } })],
      'False RoleCheckFail: the role primary is not present',
    ],
  ])('%j', (policy, pods, shown) => {
    const decision = judged({ owner: asked(policy), pods })
    expect(shownOf(decision)).toBe(shown)
    expect(decision.againAfterMs).toBe(lookAgainMs)
  })

  it.each<[string, Partial<Owner>, readonly Pod[], string]>([
    ['all are ready', { status: running }, three, 'Running'],
    ['one is not', { status: { ...running, readyReplicas: 2 } }, three, 'Creating'],
    ['one is of an older revision', { status: { ...running, updatedReplicas: 2 } }, three, 'Updating'],
    [
      'its controller has not looked yet',
      { metadata: { name: 'db', generation: 2 }, status: running },
      three,
      'Updating',
    ],
    ['none is wanted', { spec: { replicas: 0 } }, [], 'Stopped'],
    ['it is being deleted', { metadata: { name: 'db', deletionTimestamp: 'x' } }, three, 'Deleting'],
    ['a pod failed', { status: running }, [{ ...aMember(0), status: { phase: 'Failed' } }], 'Failed'],
    [
      'a container cannot begin',
      { status: running },
      [
        {
          ...aMember(0),
          status: { containerStatuses: [{ name: 'db', state: { waiting: { reason: 'ImagePullBackOff' } } }] },
        },
      ],
      'Failed',
    ],
    [
      'a container begins',
      { status: { ...running, readyReplicas: 0 } },
      [
        {
          ...aMember(0),
          status: { containerStatuses: [{ name: 'db', state: { waiting: { reason: 'PodInitializing' } } }] },
        },
      ],
      'Creating',
    ],
  ])('the phase where %s', (_what, owner, pods, phase) => {
    expect(phaseOf({ ...anOwner(), ...owner }, pods)).toBe(phase)
  })
})

describe('The condition', () => {
  const policy = { withRole: 'primary' }
  const present = [aMember(0, { role: 'primary' })]
  const shownBefore = (owner: Owner, decision: PodDecision): Owner => {
    const { annotations } = decision.changes[0]?.patch['metadata'] as { annotations: Record<string, string> }
    return { ...owner, metadata: { ...owner.metadata, annotations: { ...owner.metadata.annotations, ...annotations } } }
  }

  it('is not written again while it is the same', () => {
    const owner = asked(policy)
    const again = { owner: shownBefore(owner, judged({ owner, pods: present })), pods: present, nowMs: nowMs + 60_000 }
    expect(judged(again)).toMatchObject({ changes: [], weight: 'routine' })
  })

  it('says since when it is so, and a change is told', () => {
    const owner = asked(policy)
    const before = shownBefore(owner, judged({ owner, pods: present }))
    const lost = judged({ owner: before, nowMs: nowMs + 5_000 })
    expect(lost).toMatchObject({
      weight: 'warning',
      reason: 'NotAvailable',
      sentence: 'db is not available: the role primary is not present',
    })
    expect(conditionIn(lost)).toMatchObject({ status: 'False', lastTransitionTime: '2026-01-01T00:01:45.000Z' })
  })

  it('keeps its time where only its message changes, and that is no news', () => {
    const first = judged({ events: [word(0), word(1)] })
    const next = judged({ owner: shownBefore(asked(), first), events: [word(0)], nowMs: nowMs + 1_000 })
    expect(next.weight).toBe('routine')
    expect(conditionIn(next)['lastTransitionTime']).toBe(conditionIn(first)['lastTransitionTime'])
  })

  it('is unknown where the policy cannot be read, and says why', () => {
    const decision = judged({ owner: asked('Running') })
    expect(shownOf(decision)).toBe(
      `Unknown PolicyNotUnderstood: the policy in ${marks.availability} cannot be read: it is no JSON object`,
    )
    expect(decision.againAfterMs).toBe(lookAgainMs)
  })
})

describe('A policy', () => {
  it.each([
    '{"withPhases":"Running,Updating"}',
    '{"withRole":"primary"}',
    '{"withProbe":{"timeWindowSeconds":10,"condition":{"all":{"succeed":true,"strict":true}},"description":"x"}}',
    '{"withProbe":{"condition":{"or":[{"majority":{"stdout":{"equalTo":"ok"}}},{"not":{"any":{"stderr":{"contains":"e"}}}}]}}}',
    '{"withProbe":{"condition":{"any":{"and":[{"succeed":true},{"not":{"stdout":{"contains":"x"}}}]}}}}',
  ])('can be %s', (text) => {
    expect(availabilityPolicyIn(text)).toEqual(JSON.parse(text))
  })

  it.each([
    ['[]', 'it is no JSON object'],
    ['{}', 'it says nothing'],
    ['{"withPhase":"Running"}', 'withPhase is not known; known are withPhases, withRole, withProbe'],
    ['{"withRole":1}', 'withRole is no string'],
    ['{"withProbe":{}}', 'withProbe says nothing'],
    ['{"withProbe":[]}', 'withProbe is no object'],
    ['{"withProbe":{"timeWindowSeconds":0}}', 'withProbe.timeWindowSeconds is no number from 1 to 86400'],
    ['{"withProbe":{"condition":{"most":{}}}}', 'withProbe.condition.most is not known; known are all, any'],
    ['{"withProbe":{"condition":{"all":{}}}}', 'withProbe.condition.all says nothing'],
    ['{"withProbe":{"condition":{"and":{}}}}', 'withProbe.condition.and is no list of conditions'],
    ['{"withProbe":{"condition":{"or":[]}}}', 'withProbe.condition.or is no list of conditions'],
    ['{"withProbe":{"condition":{"or":[{"all":1}]}}}', 'withProbe.condition.or[0].all is no object'],
    ['{"withProbe":{"condition":{"all":{"succeed":"yes"}}}}', 'withProbe.condition.all.succeed is no boolean'],
    ['{"withProbe":{"condition":{"all":{"stdout":{"is":"x"}}}}}', 'withProbe.condition.all.stdout.is is not known'],
  ])('cannot be %s', (text, why) => {
    expect(() => availabilityPolicyIn(text)).toThrow(why)
  })
})

describe('The report period', () => {
  const withProbes = (value: string): Pod => ({
    ...aMember(0),
    spec: { containers: [{ name: 'kbagent', env: [{ name: 'KB_AGENT_PROBE', value }] }] },
  })
  const probe = (fields: object, action = 'availableProbe') => JSON.stringify([{ instance: 'db', action, ...fields }])
  it.each([
    [probe({ periodSeconds: 5, reportPeriodSeconds: 20 }), 20],
    [probe({ periodSeconds: 30, reportPeriodSeconds: 20 }), 30],
    [probe({ periodSeconds: 5 }), 5],
    [probe({}), 60],
    [probe({ periodSeconds: 5 }, 'roleProbe'), 60],
    ['null', 60],
    ['[', 60],
  ])('of %s is %d s', (value, seconds) => {
    expect(reportPeriodSeconds([withProbes(value)])).toBe(seconds)
  })

  it('of several pods is the longest', () => {
    const periods = [5, 25, 10].map((periodSeconds) => withProbes(probe({ periodSeconds })))
    expect(reportPeriodSeconds(periods)).toBe(25)
  })
})
