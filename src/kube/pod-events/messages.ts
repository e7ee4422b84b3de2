import { isObjectName } from './component.ts'
import { isLegacy, type PodEvent } from './pod-event.ts'

/** What an agent says of a probe that ran: `ProbeEvent` of its wire format. */
export interface ProbeMessage {
  /** Full name of the component: `<cluster>-<component>`. */
  readonly instance: string
  readonly probe: string
  /** 0, or -1 where it failed. */
  readonly code: number
  /** What the probe wrote, decoded. */
  readonly output: string
  readonly message: string
}

/** What an agent's worker says of a task: `TaskEvent` of its wire format. */
export interface TaskMessage {
  readonly instance: string
  readonly task: string
  readonly uid: string
  readonly replica: string
  /** Undefined while it goes on. */
  readonly endTime: string | undefined
  readonly code: number
  readonly message: string
}

export type Fields = Readonly<Record<string, unknown>>

/** Go's zero time: an agent never leaves a time out. */
const zeroTime = '0001-01-01T00:00:00Z'

/** Undefined where the message is no JSON of that shape. */
export function probeMessageOf({ message }: PodEvent): ProbeMessage | undefined {
  const said = jsonObject(message)
  if (said === undefined || typeof said['probe'] !== 'string' || typeof said['code'] !== 'number') return undefined
  const output = bytesIn(said['output'])
  if (output === undefined) return undefined
  return {
    instance: textOf(said['instance']),
    probe: said['probe'],
    code: said['code'],
    output: output.toString(),
    message: textOf(said['message']),
  }
}

/**
 * Bytes as Go writes them: base64 with its padding, or nothing. Undefined for everything else: Node would read any text
 * as some bytes, and a word that was garbled on its way would take a role away.
 */
function bytesIn(value: unknown): Buffer | undefined {
  if (value === undefined || value === null) return Buffer.alloc(0)
  const isBase64 =
    typeof value === 'string' && /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(value)
  return isBase64 ? Buffer.from(value, 'base64') : undefined
}

/** Undefined where the message is no JSON of that shape. */
export function taskMessageOf({ message }: PodEvent): TaskMessage | undefined {
  const said = jsonObject(message)
  if (said === undefined || typeof said['task'] !== 'string' || typeof said['replica'] !== 'string') return undefined
  const endTime = textOf(said['endTime'])
  return {
    instance: textOf(said['instance']),
    task: said['task'],
    uid: textOf(said['UID']),
    replica: said['replica'],
    endTime: endTime === '' || endTime === zeroTime ? undefined : endTime,
    code: typeof said['code'] === 'number' ? said['code'] : 0,
    message: textOf(said['message']),
  }
}

/**
 * What an agent before 1.0, or a readiness probe that prints JSON, says of a role; in the shape of today's. Undefined
 * where it is neither.
 */
function legacyMessageOf(event: PodEvent): ProbeMessage | undefined {
  const inProbe = /Readiness probe failed: .*?(\{.*\})/s.exec(event.message ?? '')?.[1]
  const said = jsonObject(event.message) ?? jsonObject(inProbe)
  if (said === undefined || typeof said['event'] !== 'string') return undefined
  const isGood = said['event'] === 'Success'
  const output = textOf(said['role'])
  const message = [said['event'], textOf(said['message'])].filter((part) => part !== '').join(': ')
  return { instance: '', probe: 'roleProbe', code: isGood ? 0 : -1, output, message }
}

/** The role message of either generation. */
export function roleMessageOf(event: PodEvent): ProbeMessage | undefined {
  return isLegacy(event) ? legacyMessageOf(event) : probeMessageOf(event)
}

/** The component that an Event names; '' where it names none, as older agents do not, or none that can exist. */
export function componentOf({ message }: PodEvent): string {
  const name = textOf(jsonObject(message)?.['instance'])
  return isObjectName(name) ? name : ''
}

/** The fields of a JSON object; undefined for everything else. */
export function jsonObject(text: string | undefined): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '')
    return isFields(value) ? value : undefined
  } catch {
    return undefined
  }
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A text of a JSON object; '' for everything else. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
