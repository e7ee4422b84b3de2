import type { RegentError } from '#common/errors/errors.ts'
import type { Machine } from '#common/ports/ports.ts'
import type { MediumPort } from '../instance/medium.ts'
import type { ProcessPort } from '../ports/process.ts'
import type { ServerPort } from '../ports/server.ts'
import type { VolumePort } from '../ports/volume.ts'

/** What an agent is given in place of the machine beside it. */
export interface FarPlace {
  readonly ports: {
    readonly machine: Machine
    readonly medium: MediumPort
    readonly process: ProcessPort
    readonly server: ServerPort
    readonly volume: VolumePort
  }
  /**
   * Why nothing is known of the server: neither it nor its host has said anything for a moment. Null while one of them
   * speaks; but a server without its host is not enough for a promise.
   */
  readonly whyBlind: () => RegentError | null
  readonly close: () => void
}
