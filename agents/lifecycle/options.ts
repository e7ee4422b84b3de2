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
}
