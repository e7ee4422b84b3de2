import type { ClientRequest } from 'node:http'
import { describeFailure, isDistrust, requestTo } from '#common/http/agent-request.ts'
import { catalogue, type ErrorCode } from '#common/errors/error-catalogue.ts'
import { described, describeError, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { withSentences } from '#common/sentence/sentence-wire.ts'
import { hostAndPort, readText } from '#common/http/http-transport.ts'
import type { ClientTls } from '#common/tls/tls.ts'
import { observationsPath, type Follower } from '#failover/protocol/message.ts'
import { observationVersion, type Observation } from '#topology/snapshot/observation.ts'
import type { AgentFeed, AgentIdentity, FeedListener } from '../loop/agent-feed.ts'

/**
 * A stream without a line for this long is closed and opened again: agents send at least every few hundred
 * milliseconds.
 */
const silenceMs = 1_500
const retryMs = 100
const longestRefusal = 65_536
/** Characters. An observation has some thousands; whatever answers must not fill the memory of a manager. */
const longestLine = 16 * 1_048_576

export interface HttpFeedOptions {
  /** Sent as bearer token. */
  readonly token: string
  /** Plain HTTP unless given. */
  readonly tls?: ClientTls | undefined
  /** A manager unless given. */
  readonly follower?: Follower
}

/** Streams of observations over HTTP, newline-delimited JSON. */
export function createHttpFeed(options: HttpFeedOptions): AgentFeed {
  return {
    follow(address, whom, listener) {
      let stopped = false
      let current: ClientRequest | undefined
      let retry: NodeJS.Timeout | undefined
      const lost = (why: string, isDistrusted = false): void => {
        if (isDistrusted) listener.lost(why, true)
        else listener.lost(why)
        retry = setTimeout(open, retryMs)
      }
      const open = (): void => {
        if (stopped) return
        try {
          current = openStream({ address, whom }, options, listener, lost)
        } catch (error) {
          lost(`${address}: ${describeError(error)}`)
        }
      }
      open()
      return () => {
        stopped = true
        clearTimeout(retry)
        current?.destroy()
      }
    },
  }
}

function openStream(
  { address, whom }: { readonly address: string; readonly whom: AgentIdentity },
  { token, tls, follower = 'manager' }: HttpFeedOptions,
  listener: FeedListener,
  ended: (why: string, isDistrusted?: boolean) => void,
): ClientRequest {
  const { host, port } = hostAndPort(address)
  let over = false
  let isReached = false
  const end = (why: string, isDistrusted = false): void => {
    if (over) return
    over = true
    outgoing.destroy()
    if (!isReached) listener.unreached?.()
    ended(why, isDistrusted)
  }
  const outgoing = requestTo(tls, {
    host,
    port,
    path: observationsPath(follower),
    headers: { authorization: `Bearer ${token}` },
    timeout: silenceMs,
  })
  const take = (line: string): void => {
    // More lines may have come with the line that ended the stream.
    if (over) return
    try {
      if (line === '') listener.alive()
      else listener.heard(ofWhom(parseObservation(line), whom, address))
    } catch (error) {
      if (error instanceof RegentError && error.code === 'REGENT_WRONG_MEMBER') listener.strange?.(error)
      end(describeError(error))
    }
  }
  outgoing.on('response', (incoming) => {
    if (incoming.statusCode !== 200) {
      const isDistrusted = incoming.statusCode === catalogue.REGENT_UNAUTHORIZED.status
      const refused = (text: string): void => {
        const { code, detail } = problemIn(text)
        if (blindness.has(code)) listener.blind?.(detail)
        end(`${address} answered ${incoming.statusCode}${detail === '' ? '' : `: ${detail}`}`, isDistrusted)
      }
      readText(incoming, longestRefusal).then(refused, (error: unknown) => end(describeError(error)))
      return
    }
    incoming.on('error', (error) => end(describeError(error)))
    incoming.on('close', () => end(`${address} ended its stream`))
    let begun = ''
    incoming.setEncoding('utf8').on('data', (text: string) => {
      const lines = (begun + text).split('\n')
      begun = lines.pop() ?? ''
      lines.forEach(take)
      if (begun.length > longestLine) end(`${address} sent a line longer than ${longestLine} characters`)
    })
  })
  outgoing.on('socket', (socket) => {
    socket.setNoDelay(true)
    isReached = outgoing.reusedSocket
    socket.once('connect', () => (isReached = true))
  })
  outgoing.on('timeout', () => end(`${address} sent nothing for ${silenceMs} ms`))
  outgoing.on('error', (error) => {
    if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') isReached = true
    end(`${address}: ${String(describeFailure(error))}`, isDistrust(error))
  })
  outgoing.end()
  return outgoing
}

/** By what an agent refuses that is far from its server, and sees neither that nor its host. */
const blindness: ReadonlySet<string> = new Set<ErrorCode>([
  'REGENT_SSH_DOWN',
  'REGENT_HOST_KEY',
  'REGENT_SERVER_DOWN',
  'REGENT_SERVER_TIMEOUT',
])

/** The agent's own words, where it says why it refuses. */
function problemIn(text: string): { readonly code: string; readonly detail: string } {
  try {
    const { code, detail } = JSON.parse(text) as { readonly code?: unknown; readonly detail?: unknown }
    return { code: typeof code === 'string' ? code : '', detail: typeof detail === 'string' ? detail : '' }
  } catch {
    return { code: '', detail: '' }
  }
}

/**
 * Throws `REGENT_BAD_REQUEST` or `REGENT_NEWER_VERSION`. Fields are not checked one by one: the agent is ours and
 * authenticated, only its version may differ.
 */
export function parseObservation(line: string): Observation {
  const value = parseJson(line)
  if (typeof value !== 'object' || value === null || typeof (value as Observation).version !== 'number') {
    throw new RegentError('REGENT_BAD_REQUEST', say`an agent sent something that is no observation`)
  }
  const observation = withSentences(value as Observation)
  if (observation.version > observationVersion) {
    throw new RegentError(
      'REGENT_NEWER_VERSION',
      say`the agent of ${observation.instance} sends version ${observation.version}, this manager understands up to ${observationVersion}`,
    )
  }
  return observation
}

/** Another instance or another cluster took over the address: what it says is nobody’s here. */
function ofWhom(observation: Observation, { cluster, instance }: AgentIdentity, address: string): Observation {
  if (observation.cluster === cluster && observation.instance === instance) return observation
  const other = say`${observation.instance} of cluster ${observation.cluster}`
  throw new RegentError(
    'REGENT_WRONG_MEMBER',
    say`the agent at ${address} is that of ${other}, not of ${instance} of cluster ${cluster}: nothing that it says is taken`,
  )
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line) as unknown
  } catch (error) {
    throw new RegentError('REGENT_BAD_REQUEST', say`an agent sent a line that is not JSON: ${described(error)}`, {
      cause: error,
    })
  }
}
