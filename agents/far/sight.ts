import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { World } from '#common/ports/ports.ts'
import { farMedium } from '../instance/medium.ts'
import type { ServerPort } from '../ports/server.ts'
import type { VolumePort } from '../ports/volume.ts'
import type { FarPlace } from './place.ts'
import type { FarProcess } from './process.ts'
import type { FarShell } from './ssh.ts'

interface Parts {
  readonly host: string
  readonly clock: World['clock']
  readonly shell: Pick<FarShell, 'failure'>
  readonly bootId: string
  readonly process: FarProcess
  readonly server: ServerPort
  readonly volume: VolumePort
  /** To be called with each answer of the running server. */
  readonly see: (state: Awaited<ReturnType<ServerPort['readState']>>) => void
}

/** A server that has not answered for so long, and whose host is not reached either, is not seen. */
const unansweredMs = 800

/** The ports of an agent that is told of its server by two roads, SQL and SSH, and when both are of no use. */
export function sightOf({
  host,
  clock,
  shell,
  bootId,
  process,
  server,
  volume,
  see,
}: Parts): Pick<FarPlace, 'ports' | 'whyBlind'> {
  let answeredAtMs = clock.monotonicMs()
  /** Without its host it keeps no promise, and others would wait for that. */
  let isPromiseUnkept = false
  return {
    ports: {
      machine: { bootId: () => Promise.resolve(bootId) },
      medium: { read: () => Promise.resolve(farMedium) },
      process,
      server: {
        ...server,
        async readState() {
          const state = await server.readState()
          answeredAtMs = clock.monotonicMs()
          see(state)
          return state
        },
      },
      volume: {
        ...volume,
        async syncRelayLogs() {
          isPromiseUnkept = true
          await volume.syncRelayLogs()
          isPromiseUnkept = false
        },
      },
    },
    whyBlind() {
      const unseen = process.isSeen ? null : (shell.failure ?? nothingHeard(host))
      return isPromiseUnkept || clock.monotonicMs() - answeredAtMs > unansweredMs ? unseen : null
    },
  }
}

function nothingHeard(host: string): RegentError {
  return new RegentError('REGENT_SSH_DOWN', say`${host} has not said for a moment what becomes of its mysqld`)
}
