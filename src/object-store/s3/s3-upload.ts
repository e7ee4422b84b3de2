import { createHash, randomUUID } from 'node:crypto'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  PutObjectCommand,
  UploadPartCommand,
  type CompletedPart,
  type PutObjectCommandInput,
} from '@aws-sdk/client-s3'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { compositeSum } from './composite-sum.ts'
import type { Interruptible, PutOptions } from '../object-store.ts'
import { PartReader, type FilledPart } from './part-reader.ts'
import { hasRoomFor, partBytes, partPlan, partsHeld, planText, type PartPlan } from './part-plan.ts'
import { withHeaders } from './s3-client.ts'
import { requireAnswer } from './s3-failure.ts'
import { Expected, type S3Requests } from './s3-requests.ts'
import { marked } from '../source-failure.ts'

/** The bucket and the whole key of one object there. */
export interface Place {
  readonly Bucket: string
  readonly Key: string
}

/** In the metadata of an object: who wrote it, so that a writer whose answer was lost knows its own. */
const writerField = 'regent-writer'
/** Where its parts end. */
export const partsField = 'regent-parts'

const giveUpMs = 10_000

interface Upload {
  readonly requests: S3Requests
  readonly place: Place
  readonly what: string
  readonly signal: AbortSignal | undefined
}

/** Content of any length: in one request where it fits into a part. @returns its bytes */
export async function upload(
  requests: S3Requests,
  place: Place,
  content: AsyncIterable<Uint8Array>,
  { expectedBytes, signal, what }: PutOptions & { readonly what: string },
): Promise<number> {
  const plan = partPlan(expectedBytes)
  const reader = new PartReader(marked(content), signal)
  const task = { requests, place, what, signal }
  try {
    const first = await reader.read(partBytes(plan, 1))
    if (!first.isLast) return await new PartsUpload(task, plan, reader).run(first)
    await putWhole(task, first, randomUUID())
    return first.content.length
  } finally {
    await reader.close()
  }
}

/** False where there is such an object. */
export async function uploadIfAbsent(
  requests: S3Requests,
  place: Place,
  content: Uint8Array,
  { signal, what }: Interruptible & { readonly what: string },
): Promise<boolean> {
  const writer = randomUUID()
  const task = { requests, place, what, signal }
  const digest = createHash('sha256').update(content).digest()
  try {
    await putWhole(task, { content, digest }, writer, { IfNoneMatch: '*' })
    return true
  } catch (error) {
    if (!(error instanceof Expected)) throw error
    // The first answer was lost: the object that is there may be ours.
    return error.isAfterLoss && (await isWrittenBy(task, writer))
  }
}

async function putWhole(
  { requests, place, what, signal }: Upload,
  { content, digest }: Pick<FilledPart, 'content' | 'digest'>,
  writer: string,
  condition: Pick<PutObjectCommandInput, 'IfNoneMatch'> = {},
): Promise<void> {
  const expected = condition.IfNoneMatch === undefined ? [] : ['PreconditionFailed']
  const input = {
    ...{ ...place, ...condition, Body: content, ContentLength: content.length },
    ChecksumSHA256: digest.toString('base64'),
    Metadata: { [writerField]: writer },
  }
  const command = () => withHeaders(new PutObjectCommand(input), { 'x-amz-content-sha256': digest.toString('hex') })
  await requests.send({ what, signal, expected }, async (client, through) =>
    requireAnswer(await client.send(command(), through)),
  )
}

async function isWrittenBy({ requests, place, what, signal }: Upload, writer: string): Promise<boolean> {
  const { Metadata } = await requests.send({ what, signal }, (client, through) =>
    client.send(new HeadObjectCommand(place), through),
  )
  return Metadata?.[writerField] === writer
}

/** An upload in parts: a few on their way while the next is filled. */
class PartsUpload {
  readonly #task: Upload
  readonly #plan: PartPlan
  readonly #reader: PartReader
  readonly #writer = randomUUID()
  readonly #failure = new AbortController()
  readonly #sent: CompletedPart[] = []
  readonly #digests: Buffer[] = []
  readonly #underway = new Set<Promise<void>>()
  #uploadId = ''

  constructor(task: Upload, plan: PartPlan, reader: PartReader) {
    const { signal } = task
    const stop = this.#failure.signal
    this.#task = { ...task, signal: signal === undefined ? stop : AbortSignal.any([signal, stop]) }
    this.#plan = plan
    this.#reader = reader
  }

  async run(first: FilledPart): Promise<number> {
    await this.#create()
    try {
      const bytes = await this.#sendAll(first)
      await this.#complete(bytes)
      return bytes
    } catch (error) {
      this.#failure.abort(error)
      await Promise.allSettled(this.#underway)
      await this.#giveUp()
      throw error
    }
  }

  async #create(): Promise<void> {
    const { requests, place, what, signal } = this.#task
    const Metadata = { [writerField]: this.#writer, [partsField]: planText(this.#plan) }
    const { UploadId } = await requests.send({ what, signal }, (client, through) =>
      client.send(new CreateMultipartUploadCommand({ ...place, ChecksumAlgorithm: 'SHA256', Metadata }), through),
    )
    if (UploadId === undefined || UploadId === '') throw await requests.error(what, new Error('the upload has no name'))
    this.#uploadId = UploadId
  }

  async #sendAll(first: FilledPart): Promise<number> {
    let bytes = 0
    for (let part = first, number = 1; ; number += 1) {
      bytes += part.content.length
      // An object that ends with a part has no empty one behind.
      if (part.content.length > 0) this.#start(part, number)
      if (part.isLast) break
      this.#requireRoom(number + 1)
      const size = partBytes(this.#plan, number + 1)
      while (this.#underway.size >= partsHeld(size)) await Promise.race(this.#underway)
      part = await this.#reader.read(size)
    }
    await Promise.all(this.#underway)
    return bytes
  }

  #start(part: FilledPart, number: number): void {
    const sending = this.#send(part, number).finally(() => {
      this.#underway.delete(sending)
      this.#reader.giveBack(part)
    })
    this.#underway.add(sending)
    // The next waiting call hears of a failure; until then nobody does.
    sending.catch(() => undefined)
    this.#digests.push(part.digest)
  }

  async #send({ content, digest }: FilledPart, PartNumber: number): Promise<void> {
    const { requests, place, signal } = this.#task
    const ChecksumSHA256 = digest.toString('base64')
    const input = { ...place, UploadId: this.#uploadId, PartNumber, ContentLength: content.length, ChecksumSHA256 }
    const what = `${this.#task.what}, part ${PartNumber}`
    const { ETag } = await requests.send({ what, signal }, (client, through) =>
      client.send(
        withHeaders(new UploadPartCommand({ ...input, Body: content }), {
          'x-amz-content-sha256': digest.toString('hex'),
        }),
        through,
      ),
    )
    this.#sent[PartNumber - 1] = { ETag, PartNumber, ChecksumSHA256 }
  }

  #requireRoom(number: number): void {
    if (hasRoomFor(number)) return
    const { what } = this.#task
    throw new RegentError('REGENT_BACKUP_STORE', say`${what}: it is larger than S3 can hold in one object.`)
  }

  async #complete(bytes: number): Promise<void> {
    const { requests, place, what, signal } = this.#task
    const command = { ...place, UploadId: this.#uploadId, MpuObjectSize: bytes, MultipartUpload: { Parts: this.#sent } }
    try {
      const { ChecksumSHA256 } = await requests.send({ what, signal, expected: ['NoSuchUpload'] }, (client, through) =>
        client.send(new CompleteMultipartUploadCommand(command), through),
      )
      if (ChecksumSHA256 !== undefined && ChecksumSHA256 !== compositeSum(this.#digests))
        throw new RegentError(
          'REGENT_BACKUP_STORE',
          say`${what}: the store has another checksum of the whole than was sent.`,
        )
    } catch (error) {
      if (!(error instanceof Expected)) throw error
      // The upload is gone because the answer before was lost, or because somebody ended it.
      if (!error.isAfterLoss || !(await isWrittenBy(this.#task, this.#writer)))
        throw await requests.error(what, Object.assign(new Error(), { name: error.failure.code }))
    }
  }

  /**
   * Parts of an upload that nobody ends cost space. A part on its way may arrive behind the end of its upload, so the
   * upload is ended until the store knows nothing of it. `dropUnfinished` finds what stays for all that.
   */
  async #giveUp(): Promise<void> {
    const { requests, place } = this.#task
    const signal = AbortSignal.timeout(giveUpMs)
    const doing = { what: `${this.#task.what}, and its upload was not given up`, signal, expected: ['NoSuchUpload'] }
    const abort = new AbortMultipartUploadCommand({ ...place, UploadId: this.#uploadId })
    try {
      for (let times = 1; times <= 3; times += 1)
        await requests.send(doing, (client, through) => client.send(abort, through))
    } catch {
      // The upload is gone; or the store is away, and what is thrown says so already.
    }
  }
}
