import { isIPv6 } from 'node:net'
import { hostPort } from '#common/text/host-port.ts'

/** Where a server listens: a name or an address of IPv4 or IPv6, without brackets. */
export interface HostAddress {
  readonly host: string
  readonly port: number
}

export const mysqlPort = 3306

/** `10.0.0.1`, `db1.example:3307`, `::1`, `[::1]:3306`. Undefined for anything else. */
export function parseHostAddress(text: string): HostAddress | undefined {
  if (isIPv6(text)) return { host: text, port: mysqlPort }
  const [, bracketed, bare, digits] = /^(?:\[([^\]]+)\]|([^:[\]\s/@]+))(?::(\d{1,5}))?$/.exec(text) ?? []
  const port = digits === undefined ? mysqlPort : Number(digits)
  const host = bracketed === undefined ? bare : isIPv6(bracketed) ? bracketed : undefined
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port }
}

/** `10.0.0.1:3306`, `[::1]:3306` */
export function addressText({ host, port }: HostAddress): string {
  return hostPort(host, port)
}

/** The same place: `localhost` and other names are taken as they are written, but for capitals. */
export function isSameAddress(one: HostAddress, other: HostAddress): boolean {
  return one.host.toLowerCase() === other.host.toLowerCase() && one.port === other.port
}
