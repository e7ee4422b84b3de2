import { join } from 'node:path'
import { describeError, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Logger } from '#common/log/logger.ts'
import type { World } from '#common/ports/ports.ts'
import type { AgentConfig, FarConfig, FarLogin, FarSsh } from '../instance/config.ts'
import type { OneLife } from '../instance/one-life.ts'
import { volumeLayout } from '../instance/volume-layout.ts'
import type { ServerPort } from '../ports/server.ts'
import type { VolumePort } from '../ports/volume.ts'
import { FarEnding } from './ending.ts'
import type { FarIdentity } from './identity.ts'
import { Mirror } from './mirror.ts'
import { noteInFile } from './note.ts'
import type { OwnStart } from './own-start.ts'
import type { FarPlace } from './place.ts'
import { FarProcess } from './process.ts'
import { bootIdScript } from './scripts.ts'
import { sightOf } from './sight.ts'
import { SshShell } from './ssh.ts'
import { untilReached } from './until-reached.ts'
import { createFarVolume, makeMirrorFolder } from './volume.ts'

/** What an agent is made with whose server is far. */
export interface FarGiven {
  readonly world: World
  readonly log: Logger
  readonly server: ServerPort
  /** The start of that server to which its sessions may belong. */
  readonly ownStart: OwnStart
  /** On the agent's own folder. */
  readonly near: VolumePort
  readonly login: FarLogin
  readonly identity: FarIdentity
  /** Answers in place of the agent until the host is reached, and refuses by this; resolves to what ends that. */
  readonly refuse: (why: () => RegentError) => Promise<() => Promise<void>>
  /** What of the agent's own folder is written goes through this. */
  readonly life: OneLife
  /** Ends the agent, which is started again: what it noted at its start holds no longer. */
  readonly beginAnew: (why: RegentError) => void
}

/** Waits until the host is reached: who knows nothing of its server has nothing to say. */
export async function farPlace(
  config: AgentConfig,
  far: FarConfig & { readonly ssh: FarSsh },
  given: FarGiven,
): Promise<FarPlace> {
  const shell = new SshShell(config.host, far.ssh, given.world)
  try {
    return await placeBy(shell, config, far, given)
  } catch (error) {
    shell.close()
    throw error
  }
}

async function placeBy(
  shell: SshShell,
  config: AgentConfig,
  far: FarConfig,
  { world, log, server, ownStart, near, identity, refuse, life: own, beginAnew }: FarGiven,
): Promise<FarPlace> {
  const { dataDir, agentDir } = volumeLayout(config.volume)
  const bootId = await untilReached(() => readBootId(shell), { ...world, log, refuse })
  await makeMirrorFolder(dataDir)
  const ending = new FarEnding(far.places, shell, join(agentDir, 'far-error-log.json'))
  const process = new FarProcess(far, {
    ...{ ...world, shell, bootId, ownStart },
    note: own.port(noteInFile(join(agentDir, 'far-mysqld.json'), ['pid', 'startTicks'])),
    rebooted: () => beginAnew(wasRebooted(config.host)),
    // Then nobody knows how it ended, which counts as a stop.
    taking: (life) =>
      own
        .do(() => ending.mark(life))
        .catch((error: unknown) => log.warn(`its error log was not marked: ${describeError(error)}`)),
  })
  const mirror = new Mirror(dataDir, far.places, { ...world, shell })
  const volume = createFarVolume(far.places, {
    ...{ ...world, near, mirror, shell },
    folder: dataDir,
    endedHow: () => ending.look(process.life),
    freeBytes: () => process.freeBytes,
    start: far.start,
    renewUuid: () => identity.renew(),
  })
  return {
    ...sightOf({
      ...{ host: config.host, clock: world.clock, shell, bootId, process, server, volume },
      see: (state) => mirror.see(state),
    }),
    close() {
      process.stop()
      shell.close()
    },
  }
}

function wasRebooted(host: string): RegentError {
  return new RegentError(
    'REGENT_REBOOTED',
    say`${host} was started anew: the agent begins anew, and reads what is left`,
  )
}

/** The boot id of the host's kernel. */
async function readBootId(shell: SshShell): Promise<string> {
  try {
    return (await shell.run(bootIdScript, [])).stdout.toString('utf8').trim()
  } catch (error) {
    throw shell.failure ?? error
  }
}
