import type { Hook } from '#failover/protocol/hook.ts'
import type { HookDocument } from '#failover/protocol/hook-document.ts'

/** Runs hooks: programs on this machine, and requests to others. */
export interface HookPort {
  /** Where programs run. */
  readonly machine: string
  /** Runs it once, within its time, with what it may retry. Never rejects. */
  run(hook: Hook, told: HookDocument): Promise<HookEnd>
}

export interface HookEnd {
  readonly isDone: boolean
  /** How it ended, in words: never with a secret, nor with what it was told. */
  readonly said: string
}
