import { longestNoteBytes } from '#common/events/event-writing.ts'
import type { ProbeEvent, TaskEvent } from '../wire/events.ts'
import { goJson } from '../wire/go-json.ts'

const cutMark = '...(truncated)'

/** The message of an Event about a probe: JSON with the keys in KubeBlocks' order, of 1,024 bytes at most. */
export function probeMessage({ instance, probe, code, output, message }: ProbeEvent): string {
  return fitted(message, output, (parts) => goJson({ instance, probe, code, ...parts }))
}

/** The message of an Event about a task. A time that has not come is Go's zero time: callers test for that. */
export function taskMessage({
  instance,
  task,
  UID,
  replica,
  startMs,
  endMs,
  code,
  output,
  message,
}: TaskEvent): string {
  const [startTime, endTime] = [timeOf(startMs), timeOf(endMs)]
  return fitted(message, output, (parts) =>
    goJson({ instance, task, UID, replica, startTime, endTime, code, ...parts }),
  )
}

function timeOf(ms: number | null): string {
  return ms === null ? '0001-01-01T00:00:00Z' : new Date(ms).toISOString()
}

interface Parts {
  readonly output?: string
  readonly message?: string
}

/** The JSON of both, or with a shorter message; where an empty message is too long still, with a shorter output too. */
function fitted(message: string, output: Buffer, write: (parts: Parts) => string): string {
  const characters = [...message]
  const cutMessage = (length: number): string => characters.slice(0, length).join('') + cutMark
  const jsonOf = (words: string, bytes: Buffer): string =>
    write({
      ...(bytes.length > 0 && { output: bytes.toString('base64') }),
      ...(words !== '' && { message: words }),
    })
  const whole = jsonOf(message, output)
  if (fits(whole)) return whole
  const length = message === '' ? -1 : longest(characters.length, (count) => jsonOf(cutMessage(count), output))
  if (length >= 0) return jsonOf(cutMessage(length), output)
  const words = message === '' ? '' : cutMark
  const bytes = longest(output.length, (count) => jsonOf(words, output.subarray(0, count)))
  return jsonOf(words, output.subarray(0, Math.max(0, bytes)))
}

/** The largest number up to `most` with which the text fits; −1 where none does. Longer numbers make longer texts. */
function longest(most: number, textWith: (count: number) => string): number {
  let [fitting, beyond] = [-1, most + 1]
  while (beyond - fitting > 1) {
    const middle = Math.floor((fitting + beyond) / 2)
    if (fits(textWith(middle))) fitting = middle
    else beyond = middle
  }
  return fitting
}

function fits(text: string): boolean {
  return Buffer.byteLength(text) <= longestNoteBytes
}
