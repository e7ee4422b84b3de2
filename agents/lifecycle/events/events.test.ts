import { describe, expect, it } from 'vitest'
import { longestNoteBytes } from '#common/events/event-writing.ts'
import { virtualWorld } from '#common/ports/testing-world.ts'
import type { ProbeEvent } from '../wire/events.ts'
import { contentName, type KubeEvent } from './event-object.ts'
import { probeMessage, taskMessage } from './messages.ts'
import { EventSender } from './sender.ts'

const pod = { namespace: 'shops', name: 'demo-mysql-0', uid: 'c8451692-ee02-475c-8842-ee7c62349a1d', node: 'worker' }
const nothing = Buffer.alloc(0)

const event = (more: Partial<ProbeEvent> = {}): ProbeEvent => ({
  instance: 'demo-mysql',
  probe: 'roleProbe',
  code: 0,
  output: nothing,
  message: '',
  ...more,
})

describe('an Event of a probe', () => {
  it.each([
    [
      event({ output: Buffer.from('primary') }),
      '{"instance":"demo-mysql","probe":"roleProbe","code":0,"output":"cHJpbWFyeQ=="}',
      '3920ff56',
    ],
    [
      event({ output: Buffer.from('secondary') }),
      '{"instance":"demo-mysql","probe":"roleProbe","code":0,"output":"c2Vjb25kYXJ5"}',
      '507fff4c',
    ],
    [event(), '{"instance":"demo-mysql","probe":"roleProbe","code":0}', '1f468ee0'],
    [
      event({ code: -1, output: Buffer.from('primary'), message: 'timedOut' }),
      '{"instance":"demo-mysql","probe":"roleProbe","code":-1,"output":"cHJpbWFyeQ==","message":"timedOut"}',
      'add3c41e',
    ],
    [
      event({ code: -1, message: 'exit code: 1, stderr: <boom> & "x"\n: failed' }),
      '{"instance":"demo-mysql","probe":"roleProbe","code":-1,"message":"exit code: 1, stderr: \\u003cboom\\u003e \\u0026 \\"x\\"\\n: failed"}',
      '19de19cc',
    ],
  ])('has the text and the name that KubeBlocks’ agent gives it: %#', (told, text, suffix) => {
    expect(probeMessage(told)).toBe(text)
    expect(contentName(pod, 'roleProbe', text)).toBe(`demo-mysql-0.${suffix}`)
  })

  it('has a name without leading zeroes', () => {
    expect(contentName(pod, 'task', 'm156')).toBe('demo-mysql-0.e10f560')
  })

  it('has a name that the API server takes, however long the name of the pod', () => {
    expect(contentName({ ...pod, name: 'n'.repeat(253) }, 'task', 'm156')).toBe(`${'n'.repeat(245)}.e10f560`)
  })

  const read = (text: string) => JSON.parse(text) as { output?: string; message?: string; code: number }

  it('loses the end of a long message, and nothing of its output', () => {
    const text = probeMessage(
      event({ code: -1, output: Buffer.from('primary'), message: `${'<é😀'.repeat(2_000)}: failed` }),
    )
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(longestNoteBytes)
    expect(Buffer.byteLength(text)).toBeGreaterThan(longestNoteBytes - 8)
    const { message, output } = read(text)
    expect(message).toMatch(/^(<é😀)+(<é?)?\.\.\.\(truncated\)$/u)
    expect(output).toBe('cHJpbWFyeQ==')
  })

  it('loses the end of its output where that alone is too long', () => {
    const long = Buffer.from('0123456789'.repeat(200))
    const withMessage = read(probeMessage(event({ code: -1, output: long, message: 'x'.repeat(50) })))
    expect(withMessage.message).toBe('...(truncated)')
    const text = probeMessage(event({ output: long }))
    const output = Buffer.from(read(text).output ?? '', 'base64').toString()
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(longestNoteBytes)
    expect(output.length).toBeGreaterThan(700)
    expect(long.toString().startsWith(output)).toBe(true)
  })

  it('is left alone up to the last byte that fits', () => {
    const empty = probeMessage(event({ code: -1, message: 'x' })).length - 1
    const fitting = 'x'.repeat(longestNoteBytes - empty)
    expect(read(probeMessage(event({ code: -1, message: fitting }))).message).toBe(fitting)
    expect(read(probeMessage(event({ code: -1, message: `${fitting}x` }))).message).toMatch(/\(truncated\)$/)
  })
})

it('The Event of a task has Go’s zero time for what has not come', () => {
  const task = {
    instance: 'demo-mysql',
    task: 'newReplica',
    UID: 'u',
    replica: 'demo-mysql-1',
    code: 0,
    output: nothing,
    message: '',
  } as const
  expect(taskMessage({ ...task, startMs: Date.UTC(2026, 0, 2), endMs: null })).toBe(
    '{"instance":"demo-mysql","task":"newReplica","UID":"u","replica":"demo-mysql-1","startTime":"2026-01-02T00:00:00.000Z","endTime":"0001-01-01T00:00:00Z","code":0}',
  )
})

describe('the sender of Events', () => {
  /** A store in memory that fails as often as it is told to. */
  function aSender() {
    const world = virtualWorld()
    const stored = new Map<string, KubeEvent>()
    let failures = 0
    const asked: string[] = []
    const answering = <Result>(what: string, give: () => Result): Promise<Result> => {
      asked.push(what)
      failures -= 1
      return failures >= 0 ? Promise.reject(new Error('refused')) : Promise.resolve(give())
    }
    const put = (event: KubeEvent): void => void stored.set(event.metadata.name, event)
    const store = {
      get: (_namespace: string, name: string) => answering('get', () => stored.get(name)),
      create: (event: KubeEvent) => answering('create', () => put(event)),
      update: (event: KubeEvent) => answering('update', () => put(event)),
    }
    const sender = new EventSender(pod, store, world)
    const signal = new AbortController().signal
    return {
      world,
      stored,
      asked,
      send: (text: string) => sender.send('roleProbe', text, signal),
      fail: (times: number) => (failures = times),
    }
  }

  it('makes an Event with everything that a manager tells it by', async () => {
    const { send, stored } = aSender()
    await send('m')
    expect([...stored.values()]).toEqual([
      {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: contentName(pod, 'roleProbe', 'm'), namespace: 'shops' },
        involvedObject: {
          kind: 'Pod',
          namespace: 'shops',
          name: 'demo-mysql-0',
          uid: pod.uid,
          fieldPath: 'spec.containers{kbagent}',
        },
        reason: 'roleProbe',
        message: 'm',
        source: { component: 'kbagent', host: 'worker' },
        firstTimestamp: '2026-01-01T00:00:00Z',
        lastTimestamp: '2026-01-01T00:00:00Z',
        count: 1,
        type: 'Normal',
        eventTime: '2026-01-01T00:00:00.000000Z',
        action: 'roleProbe',
        reportingComponent: 'kbagent',
        reportingInstance: 'demo-mysql-0',
      },
    ])
  })

  it('counts the same content once more, and touches nothing but count and time', async () => {
    const { send, stored, world, asked } = aSender()
    await send('m')
    const [first] = [...stored.values()]
    await world.advance(1_500)
    await send('m')
    expect([...stored.values()]).toEqual([{ ...first, count: 2, eventTime: '2026-01-01T00:00:01.500000Z' }])
    await send('other')
    expect(stored.size).toBe(2)
    expect(asked).toEqual(['get', 'create', 'get', 'update', 'get', 'create'])
  })

  it('never tells an earlier time than before', async () => {
    const { send, stored } = aSender()
    for (const text of ['a', 'b', 'c']) await send(text)
    const times = [...stored.values()].map(({ eventTime }) => eventTime ?? '')
    expect(new Set(times).size).toBe(3)
    expect([...times].sort()).toEqual(times)
  })

  it('tries three times with 200 ms between, and reads the stored Event anew each time', async () => {
    const { send, asked, world, fail } = aSender()
    fail(2)
    const sent = send('m')
    await world.advance(400)
    await sent
    expect(asked).toEqual(['get', 'get', 'get', 'create'])
    fail(3)
    const refused = expect(send('n')).rejects.toThrow('refused')
    await world.advance(400)
    await refused
  })
})
