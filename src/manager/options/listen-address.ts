import { isIP } from 'node:net'

export interface ListenAddress {
  readonly host: string
  readonly port: number
}

/** `127.0.0.1:6060`, `[::1]:6060`, or `:6060`, which is this machine only. Undefined for anything else. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  const [, bracketed, bare = '', digits = ''] = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? []
  const host = bracketed ?? (bare === '' ? '127.0.0.1' : bare)
  const port = Number(digits)
  return isIP(host) === (bracketed === undefined ? 4 : 6) && port >= 1 && port <= 65_535 ? { host, port } : undefined
}
