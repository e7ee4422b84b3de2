import { describe, expect, it } from 'vitest'
import { newEvent, repeatedEvent } from '#agents/lifecycle/events/event-object.ts'
import { probeMessage, taskMessage } from '#agents/lifecycle/events/messages.ts'
import { componentOf, roleMessageOf, taskMessageOf } from '#kube/pod-events/messages.ts'
import { topicOf } from '#kube/pod-events/handlers.ts'
import { happenedMicros, isHandled, isOfAgent, selections, type PodEvent } from '#kube/pod-events/pod-event.ts'

const pod = { namespace: 'shops', name: 'db-0', uid: 'u-0', node: 'n1' }
const micros = 1_767_225_600_123_456
const sent = (reason: string, text: string) => newEvent(pod, { reason, text }, micros)
const heard = (event: object) => event as PodEvent

describe('What Regent’s agent sends, its manager understands', () => {
  it.each([
    [0, 'primary', ''],
    [0, '', ''],
    [0, 'primary 18446744073709551615\n', ''],
    [-1, 'primary', 'exit code: 1, stderr: <boom> & "x"\n: failed'],
    [0, '{"term":"7","PodRoleNamePairs":[{"podName":"db-0","roleName":"primary","podUid":"u-0"}]}', ''],
  ] as const)('of a role: %i, "%s", "%s"', (code, output, message) => {
    const text = probeMessage({ instance: 'shop-db', probe: 'roleProbe', code, output: Buffer.from(output), message })
    const event = heard(sent('roleProbe', text))
    expect([isOfAgent(event), topicOf(event), componentOf(event)]).toEqual([true, 'role', 'shop-db'])
    expect(roleMessageOf(event)).toEqual({ instance: 'shop-db', probe: 'roleProbe', code, output, message })
  })

  it('of a failure that is too long to be told whole', () => {
    const message = 'é'.repeat(2_000)
    const text = probeMessage({ instance: 'db', probe: 'roleProbe', code: -1, output: Buffer.from('primary'), message })
    expect(roleMessageOf(heard(sent('roleProbe', text)))).toMatchObject({ code: -1, output: 'primary' })
  })

  it.each([
    [null, undefined],
    [Date.UTC(2026, 0, 1), '2026-01-01T00:00:00.000Z'],
  ])('of a task that ends at %s', (endMs, endTime) => {
    const task = { instance: 'db', task: 'newReplica', UID: 't1', replica: 'db-0', code: 0 } as const
    const text = taskMessage({ ...task, startMs: null, endMs, output: Buffer.alloc(0), message: 'm' })
    const event = heard(sent('task', text))
    expect([isOfAgent(event), topicOf(event)]).toEqual([true, 'task'])
    const { UID: uid, ...rest } = task
    expect(taskMessageOf(event)).toEqual({ ...rest, uid, endTime, message: 'm' })
  })

  it('of when it happened last', () => {
    const event = sent('roleProbe', '{}')
    expect(happenedMicros(heard(event))).toBe(BigInt(micros))
    const again = heard(repeatedEvent(event, micros + 1))
    expect([happenedMicros(again), isHandled(again)]).toEqual([BigInt(micros + 1), false])
  })

  it('by the field that the API server selects by', () => {
    const [field = '', value] = selections.agents.fieldSelector.split('=')
    expect(sent('roleProbe', '{}')[field]).toBe(value)
  })
})
