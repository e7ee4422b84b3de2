import type { Recovery } from '#failover/protocol/notes.ts'
import { memberId } from '#topology/snapshot/member.ts'
import type { Judgement } from './judge.ts'

const kept = 50

/** What was seen of outages, as recoveries in which nothing was done: the newest first. */
export class Episodes {
  readonly #id: () => string
  #ended: readonly Recovery[]
  #open: { recovery: Recovery; readonly beganMs: number; news: string; isGrave: boolean } | undefined

  constructor(ended: readonly Recovery[], id: () => string) {
    this.#ended = ended
    this.#id = id
  }

  get list(): readonly Recovery[] {
    return this.#open === undefined ? this.#ended : [this.#open.recovery, ...this.#ended]
  }

  get ended(): readonly Recovery[] {
    return this.#ended
  }

  /** Keeps a recovery that somebody asked for, as it is now. */
  put(recovery: Recovery): void {
    const others = this.#ended.filter(({ id }) => id !== recovery.id)
    const isNew = others.length === this.#ended.length
    this.#ended = isNew
      ? [recovery, ...others].slice(0, kept)
      : this.#ended.map((one) => (one.id === recovery.id ? recovery : one))
  }

  /** Gives whether an outage has ended that is to be kept. */
  note(judgement: Judgement, now: { readonly monotonicMs: number; readonly wallMs: number }): boolean {
    const isWell = judgement.kind === 'serving' || judgement.kind === 'alive'
    if (this.#open === undefined) {
      if (!isWell && judgement.kind !== 'none') this.#begin(judgement, now)
      return false
    }
    return isWell ? this.#end(judgement, now.monotonicMs) : (this.#goOn(judgement, now.monotonicMs), false)
  }

  #begin(
    judgement: Judgement,
    { monotonicMs, wallMs }: { readonly monotonicMs: number; readonly wallMs: number },
  ): void {
    const { primary, analyses, sentence } = judgement
    this.#open = {
      recovery: {
        ...{ id: this.#id(), kind: 'failover', startedWallMs: wallMs, outcome: 'running' },
        analysis: `${analyses[0]?.code ?? ''}: ${String(analyses[0]?.sentence ?? '')}`,
        sentence: String(sentence),
        from: primary === null ? null : memberId(primary, 'watched'),
        ...{ to: null, fromEpoch: 0, toEpoch: null },
        timeline: [{ atMs: 0, what: String(sentence) }],
      },
      ...{ beganMs: monotonicMs, news: sentence.news, isGrave: isGrave(judgement) },
    }
  }

  #goOn(judgement: Judgement, monotonicMs: number): void {
    const open = this.#open
    if (open === undefined || open.news === judgement.sentence.news) return
    open.news = judgement.sentence.news
    open.isGrave ||= isGrave(judgement)
    const { analyses, would, sentence } = judgement
    const what = String(sentence)
    open.recovery = {
      ...open.recovery,
      sentence: what,
      ...(open.isGrave ? { analysis: `${analyses[0]?.code ?? ''}: ${String(analyses[0]?.sentence ?? '')}` } : {}),
      to: would === null ? open.recovery.to : memberId(would, 'watched'),
      timeline: [...open.recovery.timeline, { atMs: Math.round(monotonicMs - open.beganMs), what }],
    }
  }

  #end({ primary }: Judgement, monotonicMs: number): boolean {
    const open = this.#open
    this.#open = undefined
    if (open?.isGrave !== true) return false
    const atMs = Math.round(monotonicMs - open.beganMs)
    const what = `${primary} answers as primary after ${(atMs / 1_000).toFixed(1)} s; Regent only watched`
    const timeline = [...open.recovery.timeline, { atMs, what }]
    this.#ended = [{ ...open.recovery, outcome: 'abandoned' as const, sentence: what, timeline }, ...this.#ended].slice(
      0,
      kept,
    )
    return true
  }
}

function isGrave({ kind }: Judgement): boolean {
  return kind === 'dead' || kind === 'unreachable'
}
