/** What `regent lifecycle-agent` is told on its command line; the environment says the rest. */
export interface LifecycleOptions {
  readonly address: string
  readonly port: number
  readonly streamingPort: number
  /** A folder; with it HTTP listens on a socket there instead of on a port. */
  readonly unixSocket: string | undefined
  /** File with the bearer token; undefined where everybody may call. */
  readonly tokenFile: string | undefined
  readonly maxConcurrency: number
  readonly maxOutputBytes: number
  /** Milliseconds that running calls get when the agent stops. */
  readonly drainMs: number
  readonly apiLogging: boolean
  readonly logLevel: string
  /** How the ports are named where they are given; the options of the command line unless said. */
  readonly portNames?: { readonly port: string; readonly streamingPort: string }
}

export const lifecycleDefaults = {
  port: 3501,
  streamingPort: 3502,
  maxConcurrency: 32,
  maxOutputBytes: 4 * 1024 * 1024,
  drainMs: 10_000,
} as const
