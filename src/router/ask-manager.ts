import { request as requestByTls } from 'node:https'
import { request } from '#common/http/node-http.ts'
import type { ApiAnswer } from '#cli/connection/api-reader.ts'

const connectMs = 2_000

export interface ManagerRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | null | undefined
  /** The authority that is trusted, and no other. Of no use for a URL of `http://`. */
  readonly ca?: string
}

/**
 * GETs this URL of a manager, by a connection of its own. By Node's own client: undici, which is behind `fetch`, would
 * be a tenth of a router's memory. Rejects where no connection is there within 2 s.
 */
export function askManager(url: string, { headers, signal, ca }: ManagerRequest): Promise<ApiAnswer> {
  return new Promise((resolve, reject) => {
    const options = { headers, agent: false, ...(signal && { signal }) } as const
    const isByTls = url.startsWith('https:')
    const outgoing = isByTls ? requestByTls(url, { ...options, ...(ca && { ca }) }) : request(url, options)
    const late = new Error(`no connection within ${connectMs} ms`)
    const slow = setTimeout(() => outgoing.destroy(late), connectMs)
    const connected = isByTls ? 'secureConnect' : 'connect'
    outgoing.on('socket', (socket) => socket.once(connected, () => clearTimeout(slow)))
    outgoing.on('close', () => clearTimeout(slow))
    outgoing.on('error', reject)
    outgoing.on('response', (incoming) => {
      const status = incoming.statusCode ?? 0
      resolve({ ok: status >= 200 && status < 300, status, body: incoming })
    })
    outgoing.end()
  })
}
