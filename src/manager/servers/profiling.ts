import { Session } from 'node:inspector/promises'
import { getHeapSnapshot } from 'node:v8'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Logger } from '#common/log/logger.ts'
import type { World } from '#common/ports/ports.ts'
import type { ListenAddress } from '../options/listen-address.ts'
import { plainServer, type PlainAnswer, type PlainRequest, type PlainServer } from './plain.ts'

export interface ProfilingServerParts {
  readonly address: ListenAddress
  readonly world: Pick<World, 'clock' | 'timers'>
  readonly log: Logger
}

const defaultSeconds = 10
const longestSeconds = 60

/**
 * `/debug/profile?seconds=N`, a .cpuprofile, and `/debug/heap`, a .heapsnapshot, as Chrome's tools and speedscope open
 * them; one at a time. A heap snapshot holds tokens too, and stops the process while it is taken, perhaps for so long
 * that it leads no longer: ask the manager that does not lead.
 */
export function profilingServer({ address, world, log }: ProfilingServerParts): PlainServer {
  let busyWith: string | undefined

  const alone =
    (what: string, take: (request: PlainRequest, done: () => void) => Promise<PlainAnswer>) =>
    async (request: PlainRequest) => {
      if (busyWith !== undefined)
        throw new RegentError('REGENT_REFUSED', say`${busyWith} is being taken already; one at a time`)
      busyWith = what
      const done = () => (busyWith = undefined)
      try {
        return await take(request, done)
      } catch (error) {
        done()
        throw error
      }
    }

  const profile = alone('a CPU profile', async ({ query, signal }, done) => {
    const seconds = secondsIn(query)
    log.info({ seconds }, `a CPU profile of ${seconds} s is taken`)
    const body = JSON.stringify(await cpuProfile(() => world.timers.sleep(seconds * 1_000, signal)))
    done()
    return attached(body, fileName('cpuprofile'))
  })

  const heap = alone('a heap snapshot', async (_request, done) => {
    log.warn('a heap snapshot is taken: this process stands still meanwhile')
    return attached(getHeapSnapshot().once('close', done), fileName('heapsnapshot'))
  })

  const fileName = (extension: string) =>
    `regent-manager-${new Date(world.clock.wallMs()).toISOString().replaceAll(':', '-')}.${extension}`

  return plainServer({
    name: 'profiling server',
    address,
    option: '--profiling-address',
    routes: { '/debug/profile': profile, '/debug/heap': heap },
    log,
  })
}

async function cpuProfile(wait: () => Promise<void>): Promise<object> {
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.start')
    await wait()
    return (await session.post('Profiler.stop')).profile
  } finally {
    session.disconnect()
  }
}

function secondsIn(query: URLSearchParams): number {
  const text = query.get('seconds') ?? String(defaultSeconds)
  const seconds = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (seconds >= 1 && seconds <= longestSeconds) return seconds
  throw new RegentError(
    'REGENT_BAD_REQUEST',
    say`seconds is "${text.slice(0, 60)}"; allowed is an integer from 1 to ${longestSeconds}`,
  )
}

function attached(body: PlainAnswer['body'], name: string): PlainAnswer {
  return {
    headers: { 'content-type': 'application/json', 'content-disposition': `attachment; filename="${name}"` },
    body,
  }
}
