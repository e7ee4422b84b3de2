import type { ServerResponse } from 'node:http'

/**
 * Server-sent events to one client. Only the newest state matters: a client that reads slowly misses what lies between.
 */
interface EventStream {
  send(event: string, data: unknown): void
  end(): void
  /** Calls `ended` once, however the stream ends; at once where it has ended. */
  onEnd(ended: () => void): void
}

export interface EventStreams {
  /** How many are open. */
  readonly size: number
  /** Begins a stream on a response whose headers are not sent yet. */
  open(response: ServerResponse): EventStream
  /** Ends all of them. */
  endAll(): void
}

/**
 * A client that has read nothing for so many heartbeats is let go, and may ask anew: its place is one that others want.
 */
const unreadBeats = 10

/** Streams with a comment every `heartbeatMs`, by which proxies and clients know that the connection lives. */
export function createEventStreams(heartbeatMs: number): EventStreams {
  const responses = new Set<ServerResponse>()

  return {
    get size() {
      return responses.size
    },

    open(response) {
      response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      })
      response.write(': connected\n\n')
      responses.add(response)
      const heartbeat = setInterval(heartbeatOf(response), heartbeatMs)
      response.on('close', () => {
        clearInterval(heartbeat)
        responses.delete(response)
      })
      return latestOnly(response)
    },

    endAll() {
      for (const response of responses) response.end()
    },
  }
}

function heartbeatOf(response: ServerResponse): () => void {
  let unread = 0
  response.on('drain', () => (unread = 0))
  return () => {
    if (!response.writableNeedDrain) response.write(': heartbeat\n\n')
    else if ((unread += 1) >= unreadBeats) response.destroy()
  }
}

function latestOnly(response: ServerResponse): EventStream {
  const waiting = new Map<string, unknown>()
  const write = (event: string, data: unknown) => response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  response.on('drain', () => {
    for (const [event, data] of waiting) write(event, data)
    waiting.clear()
  })
  return {
    send(event, data) {
      if (response.writableEnded || response.destroyed) return
      if (response.writableNeedDrain) waiting.set(event, data)
      else write(event, data)
    },
    end: () => void response.end(),
    onEnd(ended) {
      if (response.closed) ended()
      else response.once('close', ended)
    },
  }
}
