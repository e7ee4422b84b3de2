import type { OpenLine, XcomLine } from '#agents/group/xcom/line.ts'
import type { ProcessLife } from '../process-life.ts'

/** Lines as one program hears on them: an answer comes while the program runs, and to a dead one never. */
export function heardLines(life: ProcessLife, open: OpenLine): OpenLine {
  return async (address, deadlineMs) => {
    const line = await life.hear(open(address, deadlineMs))
    return new HeardLine(life, line)
  }
}

class HeardLine implements XcomLine {
  readonly #life: ProcessLife
  readonly #line: XcomLine
  readonly address: string
  constructor(life: ProcessLife, line: XcomLine) {
    this.#life = life
    this.#line = line
    this.address = line.address
  }

  get isOpen(): boolean {
    return this.#line.isOpen
  }

  state: XcomLine['state'] = (...asked) => this.#life.hear(this.#line.state(...asked))
  snapshot: XcomLine['snapshot'] = (...asked) => this.#life.hear(this.#line.snapshot(...asked))
  remove: XcomLine['remove'] = (...asked) => this.#life.hear(this.#line.remove(...asked))

  close(): void {
    this.#line.close()
  }
}
