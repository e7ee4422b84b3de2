import { named, unpack } from '../copy/unpack.ts'
import type { Received } from '../streaming/receive.ts'
import { LoadFolder, staysBehind } from './load-folder.ts'

/** Where a copy comes from, and where it goes. */
export interface CopyOrder {
  readonly dataDir: string
  /** UID of the task. */
  readonly task: string
  /** Address of the source. */
  readonly from: string
  readonly signal: AbortSignal
}

export interface Loaded {
  readonly bytes: number
  /**
   * What is known of the data: the source vouched for every byte; the stream had its end, and nobody vouched for the
   * bytes; nothing; or this task had loaded it before.
   */
  readonly checked: 'all' | 'end' | 'nothing' | 'before'
}

/**
 * The built-in `dataLoad`: fills an empty data folder from a copy stream. The source is asked once the folder is known
 * to be empty, and not at all where the same task has filled the folder already. Rejects with a sentence; the folder is
 * not usable then, and looks it.
 */
export async function loadCopy(
  receive: () => Promise<Received>,
  { dataDir, task, from, signal }: CopyOrder,
): Promise<Loaded> {
  const folder = new LoadFolder(dataDir)
  const before = await folder.prepare(task)
  if (before !== undefined) return { bytes: before.bytes, checked: 'before' }
  let bytes = 0
  try {
    const { data, socket } = await receive()
    const stop = (): unknown => data.destroy(new Error('the worker was told to stop'))
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    try {
      const unpacked = await unpack(data as AsyncIterable<Buffer>, folder.stage, named(staysBehind))
      await folder.check()
      signal.throwIfAborted()
      await folder.finish(task, from, { ...unpacked, isVerified: data.isFramed })
      return { bytes: data.bytes, checked: data.isFramed ? 'all' : 'end' }
    } finally {
      bytes = data.bytes
      signal.removeEventListener('abort', stop)
      socket.destroy()
    }
  } catch (thrown) {
    const error = isOutOfSpace(thrown)
      ? new Error(`${bytes} bytes had come when no space was left for ${dataDir}: ${thrown.message}`, { cause: thrown })
      : thrown
    // Where not even that can be written, the folder still says that the load has not ended.
    await folder.fail(error).catch(() => undefined)
    throw error
  }
}

/** No space is left on the disk, or in this user's share of it. */
function isOutOfSpace(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')
}
