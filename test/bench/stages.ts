import { monotonicMs } from '../support/monotonic.ts'

export interface Stage {
  readonly what: string
  readonly ms: number
}

/** What a command says while it works, as stages: a line that tells another number goes on with the same stage. */
export class Stages {
  readonly #begun: { readonly what: string; readonly atMs: number }[] = [{ what: 'begin', atMs: monotonicMs() }]

  see(line: string): void {
    const what = line.replaceAll(/[0-9][0-9.,]*( [kMGT]i?B)?/g, '…').trim()
    if (this.#begun.at(-1)?.what !== what) this.#begun.push({ what, atMs: monotonicMs() })
  }

  end(): readonly Stage[] {
    const endMs = monotonicMs()
    return this.#begun.map(({ what, atMs }, at) => ({ what, ms: (this.#begun[at + 1]?.atMs ?? endMs) - atMs }))
  }
}

/** Of a backup, by what its manifest says. */
export function stagesOfBackup(
  { startedAtMs, endedAtMs, storedAtMs }: Readonly<Record<'startedAtMs' | 'endedAtMs' | 'storedAtMs', number>>,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): readonly Stage[] {
  return [
    { what: 'the command is taken, an instance chosen', ms: startedAtMs - fromMs },
    { what: 'CLONE makes the copy', ms: endedAtMs - startedAtMs },
    { what: 'the copy is read, compressed, sent', ms: storedAtMs - endedAtMs },
    { what: 'the command hears of the end', ms: toMs - storedAtMs },
  ]
}
