import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { describeError } from '../../../src/common/errors/errors.ts'
import type { CommandWorld } from '../actions/run-command.ts'
import { argvOf } from '../actions/runner.ts'
import { streamInto, type StreamEnd } from '../actions/stream-command.ts'
import { streamLimitMs } from '../actions/time-limit.ts'
import type { Unframer } from '../streaming/frames.ts'
import { receive } from '../streaming/receive.ts'
import type { Action, NewReplica } from '../wire/definitions.ts'

export interface LoadParts {
  readonly actions: ReadonlyMap<string, Action>
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly world: CommandWorld
  /** Sent to the source; undefined where the source asks for none. */
  readonly token: string | undefined
  readonly signal: AbortSignal
  /** Called with the number of bytes that came so far. */
  readonly progress: (bytes: () => number) => void
}

export interface Loaded {
  readonly bytes: number
  /** Whether the source vouched for every byte; a source of KubeBlocks cannot. */
  readonly isVerified: boolean
}

/**
 * Streams `dataDump` of another pod into `dataLoad` of this one. Rejects with a sentence. A load whose data is not
 * whole is killed before it sees the end of its input: what is half-loaded must not look complete.
 */
export async function loadReplica(pod: string, task: NewReplica, parts: LoadParts): Promise<Loaded> {
  const { actions, environment, world, token, signal } = parts
  const load = actions.get('dataLoad')
  if (load?.exec === undefined || argvOf(load.exec).length === 0)
    throw new Error('KB_AGENT_ACTION has no exec action dataLoad')
  const parameters = { ...task.parameters, KB_TARGET_POD_NAME: pod }
  const request = { action: 'dataDump', parameters, ...(token !== undefined && { token }) }
  const { data, socket } = await receive({ host: task.remote, port: task.port }, request)
  parts.progress(() => data.bytes)
  const command = streamInto(
    { argv: argvOf(load.exec), environment: { ...environment, ...parameters } },
    { deadlineMs: streamLimitMs(load, {}), signal },
    world,
  )
  if (typeof command === 'string') {
    socket.destroy()
    throw new Error(`dataLoad could not be started: ${command}`)
  }
  const broken = await pour(data, command.data)
  if (broken?.by === 'source') command.kill(`its data is not whole: ${broken.why}`)
  const end = await command.ended
  socket.destroy()
  const failure = failureOf(end, broken)
  if (failure !== undefined) throw new Error(`dataLoad failed: ${failure}`)
  return { bytes: data.bytes, isVerified: data.isFramed }
}

interface Broken {
  readonly by: 'source' | 'load'
  readonly why: string
}

function failureOf(end: StreamEnd, broken: Broken | undefined): string | undefined {
  if (end.ok) return broken && 'it ended with exit code 0 before it had read all of its input'
  return end.stderr === '' ? end.why : `${end.why}, stderr: ${end.stderr}`
}

/** Pours all data into a command, which sees the end of its input only where all came. Gives what broke first. */
async function pour(data: Unframer, input: Writable): Promise<Broken | undefined> {
  let by: Broken['by'] | undefined
  data.once('error', () => (by ??= 'source'))
  for (const event of ['error', 'close']) input.once(event, () => (by ??= 'load'))
  try {
    await pipeline(data, input, { end: false })
    input.end()
    return undefined
  } catch (error) {
    return { by: by ?? 'source', why: describeError(error) }
  }
}
