import type { Server } from 'node:http'
import { join } from 'node:path'
import type { RegentError } from '#common/errors/errors.ts'
import type { Logger } from '#common/log/logger.ts'
import type { World } from '#common/ports/ports.ts'
import { realMachine } from '#common/ports/real-world.ts'
import type { Timings } from '#failover/protocol/timings.ts'
import type { AgentPorts } from './agent.ts'
import { createAgentServer, type AgentHandlers } from './http.ts'
import { FarIdentity } from './far/identity.ts'
import type { FarGiven } from './far/far-place.ts'
import type { FarPlace } from './far/place.ts'
import { OwnStart } from './far/own-start.ts'
import type { AgentConfig, FarConfig } from './instance/config.ts'
import { realMedium } from './instance/medium.ts'
import type { OneLife } from './instance/one-life.ts'
import { volumeLayout } from './instance/volume-layout.ts'
import { createMysqldProcess } from './mysqld/process.ts'
import { createSqlServer } from './sql/server.ts'
import { createVolume } from './volume/volume.ts'

/** Where an agent's server is: beside the agent, or far. */
export interface Place {
  readonly ports: Pick<AgentPorts, 'machine' | 'medium' | 'process' | 'server' | 'volume'>
  /** Why the agent knows nothing of its server; null while it does. */
  readonly whyBlind: () => RegentError | null
  /** To be called once the agent listens; gives what ends that. */
  readonly serve: (server: Server) => () => void
  /** Ends every connection to the server and its host, for good. */
  readonly close: () => void
}

interface Given {
  readonly world: World
  readonly secret: string
  readonly timings: Timings
  readonly log: Logger
  readonly token: string
  readonly listen: (server: Server) => Promise<void>
  readonly life: OneLife
  readonly beginAnew: (why: RegentError) => void
}

export function placeOf(config: AgentConfig, given: Given): Promise<Place> | Place {
  return config.far === undefined ? near(config, given) : far(config, config.far, given)
}

function near(config: AgentConfig, { world, secret, timings }: Given): Place {
  const { stateFile } = volumeLayout(config.volume)
  return {
    ports: {
      machine: realMachine(config.bootIdFile),
      medium: realMedium(stateFile, process.env),
      process: createMysqldProcess(config, world),
      server: createSqlServer(config, { world, secret, queryDeadlineMs: timings.queryDeadlineMs }),
      volume: createVolume(config, () => world.clock.wallMs()),
    },
    whyBlind: () => null,
    serve: () => () => undefined,
    close: () => undefined,
  }
}

/** SSH is loaded here alone: most agents need not keep it in memory. */
async function far(
  config: AgentConfig,
  there: FarConfig,
  { world, secret, timings, log, token, listen, life, beginAnew }: Given,
): Promise<Place> {
  const [{ loginOf }, { endStreamsWhenBlind }, { untilReached }] = await Promise.all([
    import('./far/login.ts'),
    import('./far/silence.ts'),
    import('./far/until-reached.ts'),
  ])
  const ownStart = new OwnStart()
  const refuse = async (why: () => RegentError): Promise<() => Promise<void>> => {
    const refusing = createAgentServer(nobody, { token, whyBlind: why })
    await listen(refusing)
    return () =>
      new Promise((resolve) => {
        refusing.close(() => resolve())
        refusing.closeAllConnections()
      })
  }
  const account = await untilReached(() => loginOf(there), { timers: world.timers, log, refuse })
  const identity = await FarIdentity.read(
    join(volumeLayout(config.volume).agentDir, 'far-server.json'),
    there.serverUuid,
    world.random,
  )
  const login = { ...account, identity }
  const server = createSqlServer(config, {
    ...{ world, secret, queryDeadlineMs: timings.queryDeadlineMs },
    far: { ...login, ownStart },
  })
  const near = createVolume(config, () => world.clock.wallMs())
  const endSessions = (): void => {
    ownStart.end()
    server.disconnect()
  }
  try {
    const { ports, whyBlind, close } = await reach(config, there, {
      ...{ world, log, server, ownStart, near, login, identity, refuse, life, beginAnew },
    })
    return {
      ports: { ...ports, volume: life.port(ports.volume) },
      whyBlind,
      serve(own) {
        const watching = endStreamsWhenBlind(own, { world, log, whyBlind })
        return () => watching.cancel()
      },
      close() {
        endSessions()
        close()
      },
    }
  } catch (error) {
    endSessions()
    throw error
  }
}

async function reach(config: AgentConfig, { ssh, ...there }: FarConfig, given: FarGiven): Promise<FarPlace> {
  if (ssh === undefined) return (await import('./far/sql-only/place.ts')).sqlOnlyPlace(config, there, given)
  return (await import('./far/far-place.ts')).farPlace(config, { ...there, ssh }, given)
}

/** Answers where an agent will be that has not seen its host yet. */
const nobody: AgentHandlers = {
  observation: () => {
    throw new Error('an agent that has not seen its host shows nothing')
  },
  subscribe: () => () => undefined,
  orders: new Map(),
  isLive: () => true,
  isReady: () => false,
  metrics: () => '',
}

/** Where the agent itself listens. */
export function addressOf({ host, far }: AgentConfig): string {
  return far?.agentHost ?? host
}
