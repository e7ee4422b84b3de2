import { duration, say, type Said, type Sentence } from '#common/sentence/sentence.ts'
import { Readable } from 'node:stream'
import type { Watch } from '#common/watch/watch.ts'
import { codeOf, described, describeError } from '#common/errors/errors.ts'
import { learn, type Learner } from '#agents/instance/learn.ts'
import type { Parts } from '#agents/instance/parts.ts'
import type { ServerPort } from '#agents/ports/server.ts'
import type { VolumePort } from '#agents/ports/volume.ts'
import type { BuiltInAction, OutgoingStream, Patience } from '../built-in/built-in-action.ts'
import { refusal, type ErrorName } from '../wire/calls.ts'
import type { NoteWithoutCounts, Takes } from '../copy/pack-folder.ts'
import { whyNoCopy, whyStop, type CopyParts } from './copy-rules.ts'
import { roleAfterLook, type Role } from './role.ts'

export type DumpParts = Learner &
  CopyParts &
  Pick<Parts, 'notices'> & {
    readonly server: Pick<ServerPort, 'cloneLocal' | 'endLocalClones' | 'readHolds'>
    readonly volume: Pick<VolumePort, 'dataBytes' | 'freshStreamFolder' | 'hasStreamFolder' | 'dropStreamFolder'>
  }

/** How often it is looked whether a copy has to end: what it may hold up must not wait. */
const lookMs = 50
const streaming = { fact: 'errandBegan', errand: 'streamsCopy' } as const
const streamed = { fact: 'errandEnded', errand: 'streamsCopy' } as const
/** A client that takes nothing for so long keeps a copy on the volume for nothing. */
const stalledMs = 300_000

/**
 * `dataDump`: a physical copy of the running server as a stream, made by CLONE on the instance's own volume, and gone
 * from there when the stream ends, however that ends. Dumps follow one another.
 */
export function dataDump(parts: DumpParts): BuiltInAction {
  return {
    name: 'dataDump',
    run: async () =>
      refusal(
        'badRequest',
        say`dataDump is a stream, which the streaming port sends; an answer of HTTP cannot hold it`,
      ),
    stream: (_parameters, patience) => streamCopy(parts, patience, { whom: say`a client of the streaming port` }),
  }
}

/** What a copy is for. */
export interface CopyPurpose {
  /** `a copy of this server is made for …` */
  readonly whom: Sentence
  /** Called once the copy is made, before its first byte is sent: what the copy holds. A rejection ends the copy. */
  readonly copied?: (note: NoteWithoutCounts) => Promise<void>
  /** All, unless given. */
  readonly takes?: Takes
}

/** The same as a stream, for any purpose. */
export function streamCopy(parts: DumpParts, patience: Patience, purpose: CopyPurpose): OutgoingStream {
  return new Dump(parts, patience, purpose)
}

/**
 * Removes what is left of the copy of an agent that died, once: also the server's own work on the copy, which would go
 * on for nobody.
 */
export class LeftoverCopy implements Watch {
  readonly name = 'a copy that an earlier agent left'
  readonly failure = { code: 'CopyRemoved', sentence: say`the copy of an earlier agent could not be removed` }
  readonly #parts: DumpParts
  #isGone = false

  constructor(parts: DumpParts) {
    this.#parts = parts
  }

  /** A copy that is made now looks after itself. */
  while(): boolean {
    return !this.#isGone && !this.#parts.jobs.streamsCopy
  }

  async look(): Promise<void> {
    const { volume, notices } = this.#parts
    learn(this.#parts, streaming)
    try {
      if (await volume.hasStreamFolder()) {
        await removeCopy(this.#parts)
        notices.add('CopyRemoved', say`the copy that an earlier agent was streaming when it ended is removed`)
      }
      this.#isGone = true
    } finally {
      learn(this.#parts, streamed)
    }
  }
}

/** A server that runs may be at work on the copy. */
async function removeCopy({
  process,
  server,
  volume,
}: Pick<DumpParts, 'process' | 'server' | 'volume'>): Promise<void> {
  if (process.state === 'running') await server.endLocalClones()
  await volume.dropStreamFolder()
}

/** Why there is no copy, under the name that callers know. */
class Refused extends Error {
  constructor(error: ErrorName, why: Sentence) {
    const result = refusal(error, why)
    super(result.ok ? error : result.message)
  }
}

class Dump implements OutgoingStream {
  readonly data: Readable
  readonly ended: OutgoingStream['ended']
  readonly #parts: DumpParts
  readonly #purpose: CopyPurpose
  readonly #stop = new AbortController()
  readonly #end = Promise.withResolvers<Awaited<OutgoingStream['ended']>>()
  /** Since when the client takes nothing; null while the client is not waited for. */
  #waitsSinceMs: number | null = null
  #isCloning = false

  constructor(parts: DumpParts, { deadlineMs, signal }: Patience, purpose: CopyPurpose) {
    this.#parts = parts
    this.#purpose = purpose
    const { timers } = parts.world
    const stop = (): void => this.kill('the agent is stopping')
    signal.addEventListener('abort', stop, { once: true })
    const late = (): void => this.kill(`it took longer than ${(deadlineMs ?? 0) / 1_000} s`)
    const deadline = deadlineMs === null ? undefined : timers.after(deadlineMs, late)
    this.ended = this.#end.promise.finally(() => {
      signal.removeEventListener('abort', stop)
      deadline?.cancel()
    })
    this.data = Readable.from(this.#run(), { objectMode: true, highWaterMark: 1 })
    // What went wrong is told as the end.
    this.data.on('error', () => undefined)
    // Where it was killed before it began, there is no other end.
    this.data.once('close', () => this.#end.resolve({ ok: false, why: this.#whyBroken(undefined) }))
    if (signal.aborted) stop()
  }

  kill(why: string): void {
    if (this.#stop.signal.aborted) return
    const error = new Error(why)
    this.#stop.abort(error)
    this.data.destroy(error)
  }

  async *#run(): AsyncGenerator<Buffer, void, void> {
    const { jobs, notices } = this.#parts
    let failure: unknown
    let isWhole = false
    const isOwner = !jobs.streamsCopy
    try {
      if (!isOwner)
        throw new Refused('busy', say`a copy of this server is being streamed already; ask again when it has ended`)
      learn(this.#parts, streaming)
      yield* this.#copy()
      isWhole = true
    } catch (error) {
      failure = error
      throw error
    } finally {
      if (isOwner) {
        await removeCopy(this.#parts).catch((error: unknown) =>
          notices.failed('CopyRemoved', say`a copy that was streamed could not be removed`, error),
        )
        learn(this.#parts, streamed)
      }
      this.#end.resolve(isWhole ? { ok: true } : { ok: false, why: this.#whyBroken(failure) })
    }
  }

  #whyBroken(failure: unknown): string {
    const { signal } = this.#stop
    if (signal.aborted) return describeError(signal.reason)
    if (codeOf(failure) === 'REGENT_BUSY') return new Refused('busy', say`${described(failure)}`).message
    // So ends a stream whose reader leaves.
    const isLeft = failure === undefined || (failure instanceof Error && failure.name === 'AbortError')
    return isLeft ? 'nobody took the rest of it' : describeError(failure)
  }

  async *#copy(): AsyncGenerator<Buffer, void, void> {
    const { server, config, notices, observer, world } = this.#parts
    const role = await roleAfterLook(this.#parts)
    const refused = await whyNoCopy(this.#parts, role)
    if (refused !== undefined)
      throw new Refused('preconditionFailed', say`no copy is made of ${config.instance}: ${refused}`)
    const looks = world.timers.every(lookMs, this.#look(role))
    try {
      const folder = await this.#freshFolder()
      notices.add('CopyStreamed', say`a copy of this server is made for ${this.#purpose.whom}${atPrimary(role)}`)
      const [{ executed: atLeast }, of] = [await server.readHolds(), observer.server]
      this.#isCloning = true
      const beganMs = world.clock.monotonicMs()
      await server.cloneLocal(folder, this.#stop.signal, () => undefined).finally(() => (this.#isCloning = false))
      const { executed: atMost } = await server.readHolds()
      const { cluster, instance } = config
      const tookMs = Math.round(world.clock.monotonicMs() - beganMs)
      notices.add('CopyStreamed', say`the copy was made in ${duration(tookMs)}, and is sent`)
      // Loaded only now: most agents never stream a copy, and need not keep a library for it in memory.
      const { packFolder } = await import('../copy/pack-folder.ts')
      const [mysql, serverUuid] = [of?.version ?? '', of?.uuid ?? '']
      const note = { version: 1, mysql, serverUuid, instance, cluster, atLeast, atMost } as const
      await this.#purpose.copied?.(note)
      for await (const chunk of packFolder(folder, note, this.#purpose.takes)) {
        this.#waitsSinceMs = world.clock.monotonicMs()
        yield chunk
        this.#waitsSinceMs = null
      }
    } finally {
      looks.cancel()
    }
  }

  /** The copy of an agent that died may still be there, and the server at work on it. */
  async #freshFolder(): Promise<string> {
    const { volume } = this.#parts
    if (await volume.hasStreamFolder()) await removeCopy(this.#parts)
    return volume.freshStreamFolder()
  }

  #look(role: Role): () => void {
    const { file, world } = this.#parts
    const { promise } = file.current
    return () => {
      const why = whyStop(this.#parts, this.#isCloning ? { role, promise } : null)
      const waitsMs = this.#waitsSinceMs === null ? 0 : world.clock.monotonicMs() - this.#waitsSinceMs
      if (why !== undefined) this.kill(String(why))
      else if (waitsMs > stalledMs) this.kill(`the client took nothing for ${stalledMs / 1_000} s`)
    }
  }
}

function atPrimary({ is }: Role): Said {
  return is === 'primary' ? say`; this is the primary, and a replica would do the same without a cost for clients` : ''
}
