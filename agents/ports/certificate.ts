import type { Said } from '#common/sentence/sentence.ts'
/**
 * Has mysqld show clients the certificate of a folder. mysqld reads only copies of what was found to fit together, at
 * the agent's word, and none when it starts: with files that it cannot use it would not start, or without TLS. So it
 * begins with its own certificate, closed to everybody, and is given the folder's certificate before it is opened.
 */
export interface CertificatePort {
  /** Resolves when the folder was read once, whatever is in it. */
  start(): Promise<void>
  stop(): void
  /** Why clients are shown another certificate than the newest of the folder; '' where they are not. */
  readonly trouble: Said
  /** Whether `show` would do something. */
  readonly isDue: boolean
  /** Asks once for each mysqld and each certificate. Never rejects: a server without one is better than none. */
  show(): Promise<void>
}
