import { described, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { World } from '#common/ports/ports.ts'
import type { AgentConfig } from '#agents/instance/config.ts'
import { farMedium } from '#agents/instance/medium.ts'
import type { ServerPort } from '#agents/ports/server.ts'
import type { VolumePort } from '#agents/ports/volume.ts'
import type { FarPlace } from '#agents/far/place.ts'
import type { Note } from '#agents/far/note.ts'
import type { OwnStart } from '#agents/far/own-start.ts'
import { SqlOnlyProcess, type Life } from './process.ts'
import type { SqlPulse } from './pulse.ts'

interface Parts {
  readonly clock: World['clock']
  readonly serverUuid: string
  readonly pulse: SqlPulse
  readonly server: ServerPort
  readonly ownStart: OwnStart
  readonly volume: VolumePort
  readonly note: Note<Life>
}

const closeAtOnceMs = 500

/** The ports of an agent that is told of its server by SQL alone, and when nothing is told. */
export function sqlSightOf(
  { host, port }: Pick<AgentConfig, 'host' | 'port'>,
  { clock, serverUuid, pulse, server, ownStart, volume, note }: Parts,
): Pick<FarPlace, 'ports' | 'whyBlind'> {
  return {
    ports: {
      machine: { bootId: () => Promise.resolve(`far ${serverUuid}`) },
      medium: { read: () => Promise.resolve(farMedium) },
      process: new SqlOnlyProcess({ clock, pulse, close: () => close(server), ownStart, note }),
      volume,
      // A server that refuses its agent cannot be started with other accounts.
      server: { ...server, whyRefused: () => Promise.resolve('') },
    },
    whyBlind() {
      const { whyUnseen } = pulse
      return (
        whyUnseen &&
        new RegentError(whyUnseen.code, say`${host}:${port} does not answer by SQL: ${described(whyUnseen)}`)
      )
    },
  }
}

/**
 * The close takes the place of a kill. Sessions that hold a lock are ended; commits that are under way are waited for,
 * and nobody writes anything after that.
 */
async function close(server: ServerPort): Promise<void> {
  await server.setReadOnly('closed', closeAtOnceMs).catch(() => undefined)
  await server.setOffline(true)
  await server.killForeignSessions()
  await server.setReadOnly('closed')
  await server.stopReceiver()
  await server.stopApplier()
}
