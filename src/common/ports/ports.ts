/**
 * The world outside, as small ports: what decides and what converges reads time, randomness, disk, network and
 * processes through these only, so that the very same code can run on a virtual clock.
 */

/**
 * Two clocks. Durations and deadlines use `monotonicMs`; `wallMs` is for what people read and for what outlives a
 * process.
 */
export interface Clock {
  /** Milliseconds since an arbitrary start, never going back, with a fraction. */
  monotonicMs(): number
  /** Milliseconds since 1970-01-01 UTC. May jump. */
  wallMs(): number
}

export interface Timer {
  cancel(): void
}

export interface Timers {
  /** Runs `task` once after `ms`. The task must not throw; what it starts reports its own failures. */
  after(ms: number, task: () => void): Timer
  /** Runs `task` every `ms` until cancelled. */
  every(ms: number, task: () => void): Timer
  /** Resolves after `ms`; rejects with the signal's reason when aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export interface Random {
  /** `length` random lower-case hexadecimal digits. */
  hex(length: number): string
  /** A random version 4 UUID. */
  uuid(): string
}

/** What the agent keeps on disk goes through here: whole small files, written durably. */
export interface Disk {
  /** The file's bytes, or undefined where it does not exist. Other failures reject. */
  read(path: string): Promise<Uint8Array | undefined>
  /** Overwrites `bytes.length` bytes at `offset` of an existing file and fsyncs before it resolves. */
  writeAt(path: string, offset: number, bytes: Uint8Array): Promise<void>
  /** Creates a file of exactly `size` bytes, blocks allocated, file and folder fsynced. Rejects where it exists. */
  allocate(path: string, size: number): Promise<void>
}

/** Facts of the machine that decide whether a page cache can be believed. */
export interface Machine {
  /** Changes with every boot of the kernel (`/proc/sys/kernel/random/boot_id`, or a file given by configuration). */
  bootId(): Promise<string>
}

/** Requests to an agent, by a manager or by another agent, as JSON. */
export interface Transport {
  /**
   * Posts `body` to `path` of the agent at `address` ("host:port") and gives the parsed JSON answer.
   * Rejects with a RegentError: `REGENT_AGENT_UNREACHABLE` when nothing answered within `deadlineMs`,
   * or the agent's own refusal with its code.
   */
  post(address: string, path: string, body: unknown, deadlineMs: number): Promise<unknown>
}

export interface World {
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
}
