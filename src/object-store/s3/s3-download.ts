import { GetObjectCommand, type GetObjectCommandOutput } from '@aws-sdk/client-s3'
import { RegentError } from '#common/errors/errors.ts'
import { say, type Sayable } from '#common/sentence/sentence.ts'
import { ReadingSum } from './composite-sum.ts'
import { readPlan } from './part-plan.ts'
import { withHeaders } from './s3-client.ts'
import { againAfter, failureOf } from './s3-failure.ts'
import { Expected, type S3Requests } from './s3-requests.ts'
import { partsField, type Place } from './s3-upload.ts'

interface Download {
  readonly requests: S3Requests
  readonly place: Place
  readonly from: number
  /** Infinity: to the end. */
  readonly to: number
  readonly what: string
  readonly signal: AbortSignal | undefined
}

/** What comes from an object: its version, where it begins and ends, and the bytes. */
interface Answer {
  readonly tag: string
  readonly from: number
  readonly end: number
  readonly totalBytes: number
  readonly output: GetObjectCommandOutput
}

/**
 * The bytes of an object; a connection that breaks is taken up where it broke, of the same version of the object.
 * Throws `Expected` with NoSuchKey where there is none, and `REGENT_BACKUP_STORE`.
 */
export async function* download(task: Download): AsyncGenerator<Uint8Array> {
  if (task.from === task.to) return
  const first = await firstAnswer(task)
  if (first === undefined) return
  const check = checkOf(task, first)
  for await (const chunk of unbroken(task, first)) {
    check?.sum.update(chunk)
    yield chunk
  }
  if (check !== undefined && check.sum.end() !== check.stored)
    throw failure(task, say`what was read is not what was stored: read it again, or use another backup`)
}

/** Answers one after the other, each from where the one before ended. */
async function* unbroken(task: Download, first: Answer): AsyncGenerator<Uint8Array> {
  const retries = task.requests.retries(task.signal)
  let at = first.from
  for (let answer = first; ; answer = await nextAnswer(task, first, at)) {
    let trouble: unknown = Object.assign(new Error(`the answer ended at byte ${at}`), { name: 'ShortAnswer' })
    try {
      for await (const chunk of answer.output.Body as unknown as AsyncIterable<Uint8Array>) {
        retries.progress()
        at += chunk.length
        yield chunk
      }
    } catch (error) {
      trouble = error
    }
    task.signal?.throwIfAborted()
    if (at === first.end) return
    if (at > first.end) throw otherBytes(task)
    if (!(await retries.mayTryAgain(againAfter(failureOf(trouble)))))
      throw await task.requests.error(task.what, trouble)
  }
}

async function firstAnswer(task: Download): Promise<Answer | undefined> {
  try {
    const answer = await ask(task, task.from, task.to, {})
    if (answer.from !== task.from || answer.end !== Math.min(task.to, answer.totalBytes)) throw otherBytes(task)
    return answer
  } catch (error) {
    // Everything that was asked for lies beyond the end of the object.
    if (error instanceof Expected && error.failure.code === 'InvalidRange') return undefined
    throw error
  }
}

async function nextAnswer(task: Download, first: Answer, at: number): Promise<Answer> {
  try {
    const answer = await ask(task, at, first.end, { IfMatch: first.tag })
    if (answer.from !== at || answer.end !== first.end || answer.totalBytes !== first.totalBytes) throw otherBytes(task)
    return answer
  } catch (error) {
    if (!(error instanceof Expected)) throw error
    throw failure(task, say`it was deleted or cut off while it was read`)
  }
}

async function ask(task: Download, from: number, to: number, condition: { IfMatch?: string }): Promise<Answer> {
  const { requests, place, what, signal } = task
  const range = from === 0 && to === Infinity ? {} : { Range: `bytes=${from}-${to === Infinity ? '' : to - 1}` }
  const output = await requests.send({ what, signal, expected: ['NoSuchKey', 'InvalidRange'] }, (client, through) =>
    client.send(
      withHeaders(new GetObjectCommand({ ...place, ...condition, ...range }), { 'x-amz-checksum-mode': 'ENABLED' }),
      through,
    ),
  )
  const { ETag: tag = '', ContentLength: bytes = -1 } = output
  const given = 'Range' in range ? rangeIn(output) : { from: 0, end: bytes, totalBytes: bytes }
  if (tag !== '' && bytes >= 0 && given.end - given.from === bytes) return { tag, output, ...given }
  throw otherBytes(task)
}

/** Numbers that are none where the server did not look at the range. */
function rangeIn({ ContentRange }: GetObjectCommandOutput) {
  const [from = NaN, last = NaN, totalBytes = NaN] =
    /^bytes (\d+)-(\d+)\/(\d+)$/
      .exec(ContentRange ?? '')
      ?.slice(1)
      .map(Number) ?? []
  return { from, end: last + 1, totalBytes }
}

/** Only of whole objects, and only where the store has kept the sum that came with them. */
function checkOf({ from, to }: Download, { output }: Answer): { sum: ReadingSum; stored: string } | undefined {
  const stored = output.ChecksumSHA256
  if (from !== 0 || to !== Infinity || stored === undefined) return undefined
  const plan = readPlan(output.Metadata?.[partsField])
  // Parts that somebody else cut have their ends wherever they cut.
  if (stored.includes('-') !== (plan !== undefined)) return undefined
  return { sum: new ReadingSum(plan), stored }
}

const otherBytes = (task: Download) => failure(task, say`the store answered with other bytes than were asked for`)

function failure({ requests, what }: Download, why: Sayable): RegentError {
  return new RegentError('REGENT_BACKUP_STORE', say`Store of backups ${requests.address}: ${what}: ${why}.`)
}
