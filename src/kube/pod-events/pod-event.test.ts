import { describe, expect, it } from 'vitest'
import { topicOf } from './handlers.ts'
import { marks } from './marks.ts'
import { handledPatch, happenedMicros, isHandled, isOfAgent, type PodEvent } from './pod-event.ts'
import { legacySaid, microsOf, momentOf, roleSaid, said } from './testing-component.ts'

describe('An Event', () => {
  it.each<[string, boolean, Partial<PodEvent>]>([
    ['KubeBlocks’ agent', true, {}],
    ['the kubelet', false, { reportingComponent: 'kubelet' }],
    ['Regent’s manager', false, { reportingComponent: 'regent.dev/manager' }],
    ['nobody', false, { reportingComponent: '' }],
    ['an agent, about something else than a pod', false, { involvedObject: { kind: 'StatefulSet', name: 'db' } }],
    ['a lorry', true, legacySaid(0, '')],
    ['a lorry, with another reason', false, { ...legacySaid(0, ''), reason: 'other' }],
    ['a readiness probe', true, { ...legacySaid(0, ''), reportingComponent: 'kubelet' }],
    [
      'another container that has the older reason',
      false,
      { ...legacySaid(0, ''), involvedObject: { kind: 'Pod', fieldPath: 'spec.containers{db}' } },
    ],
  ])('of %s is one of an agent: %s', (_who, is, fields) => {
    expect(isOfAgent({ ...roleSaid(0, 'primary'), ...fields })).toBe(is)
  })

  it.each([
    ['role', legacySaid(0, '')],
    ['role', roleSaid(0, '')],
    ['task', said(0, 'task', {})],
    ['availability', said(0, 'availableProbe', {})],
    [undefined, said(0, 'anotherProbe', {})],
  ])('goes to the handler of its reason: %s', (topic, event) => {
    expect(topicOf(event)).toBe(topic)
  })

  it('is handled where its mark says its count', () => {
    const marked = (mark: string, count?: number): PodEvent => ({
      ...roleSaid(0, ''),
      metadata: { name: 'e', annotations: { [marks.handled]: mark } },
      ...(count === undefined ? { count: 0 } : { count }),
    })
    expect([isHandled(roleSaid(0, '')), isHandled(marked('1', 1)), isHandled(marked('1', 2))]).toEqual([
      false,
      true,
      false,
    ])
    expect(isHandled(marked('0'))).toBe(true)
  })

  it('about a role is marked for managers of both generations, another for the newer one', () => {
    const event = { ...roleSaid(0, ''), count: 3 }
    expect(handledPatch(event, true)).toEqual({
      metadata: { annotations: { [marks.handled]: '3', [marks.roleHandled]: 'count-3' } },
    })
    expect(handledPatch(event, false)).toEqual({ metadata: { annotations: { [marks.handled]: '3' } } })
  })

  it.each<[Partial<PodEvent>, string]>([
    [{ eventTime: '2026-01-01T00:00:01.000001Z' }, `${microsOf(1).slice(0, -1)}1`],
    [{ eventTime: '2026-01-01T00:00:01.5Z' }, microsOf(1.5)],
    [{ eventTime: '2026-01-01T00:00:01Z' }, microsOf(1)],
    [{ eventTime: momentOf(9), lastTimestamp: momentOf(1) }, microsOf(9)],
    [{ eventTime: null, lastTimestamp: '2026-01-01T00:00:02Z', firstTimestamp: '2026-01-01T00:00:01Z' }, microsOf(2)],
    [{ eventTime: null, lastTimestamp: null, firstTimestamp: '2026-01-01T00:00:01Z' }, microsOf(1)],
    [{ eventTime: null }, '0'],
    [{ eventTime: 'yesterday' }, '0'],
  ])('happened at %j', (times, micros) => {
    expect(String(happenedMicros({ ...roleSaid(0, ''), ...times }))).toBe(micros)
  })
})
