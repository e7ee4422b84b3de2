import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { describeError } from '#common/errors/errors.ts'
import type { CommandWorld } from '../actions/run-command.ts'
import { argvOf } from '../actions/argv.ts'
import { streamInto, type StreamEnd } from '../actions/stream-command.ts'
import { streamLimitMs } from '../actions/time-limit.ts'
import type { Unframer } from '../streaming/frames.ts'
import { receive, type Received } from '../streaming/receive.ts'
import type { Action, NewReplica } from '../wire/definitions.ts'
import { loadCopy, type Loaded } from './load-copy.ts'

export interface LoadParts {
  readonly actions: ReadonlyMap<string, Action>
  /** The folder that the built-in `dataLoad` fills where there is no script; undefined where none is named. */
  readonly dataDir?: string | undefined
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly world: CommandWorld
  /** Sent to the source; undefined where the source asks for none. */
  readonly token: string | undefined
  readonly signal: AbortSignal
  /** Called with the number of bytes that came so far. */
  readonly progress: (bytes: () => number) => void
}

/** What is loaded: the replica of a task. */
export interface LoadOrder extends NewReplica {
  /** The UID of the task. */
  readonly UID: string
}

/**
 * Streams `dataDump` of another pod into `dataLoad` of this pod: a script, or the built-in one where a data folder is
 * named and no script is there. Rejects with a sentence.
 */
export async function loadReplica(pod: string, task: LoadOrder, parts: LoadParts): Promise<Loaded> {
  const { actions, token, signal, dataDir } = parts
  const parameters = { ...task.parameters, KB_TARGET_POD_NAME: pod }
  const source = { host: task.remote, port: task.port }
  const ask = async (): Promise<Received> => {
    const received = await receive(source, { action: 'dataDump', parameters, ...(token !== undefined && { token }) })
    parts.progress(() => received.data.bytes)
    return received
  }
  if (dataDir !== undefined && !actions.has('dataLoad'))
    return loadCopy(ask, { dataDir, task: task.UID, from: `${source.host}:${source.port}`, signal }).catch(
      (error: unknown) => {
        throw new Error(`dataLoad failed: ${describeError(error)}`, { cause: error })
      },
    )
  return loadByScript(ask, parameters, parts)
}

/** A load whose data is not whole is killed before it sees the end of its input: it must not look complete. */
async function loadByScript(
  ask: () => Promise<Received>,
  parameters: Readonly<Record<string, string>>,
  { actions, environment, world, signal }: LoadParts,
): Promise<Loaded> {
  const load = actions.get('dataLoad')
  if (load?.exec === undefined || argvOf(load.exec).length === 0)
    throw new Error(
      'KB_AGENT_ACTION has no exec action dataLoad; without any dataLoad there, --data-dir names a folder for the built-in one',
    )
  const { data, socket } = await ask()
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
  return { bytes: data.bytes, checked: data.isFramed ? 'all' : 'nothing' }
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
