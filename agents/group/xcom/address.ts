import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'

export interface HostAndPort {
  readonly host: string
  readonly port: number
}

/** Where a member listens, from its address in the group: `host:port` or `[IPv6 address]:port`. */
export function hostAndPort(address: string): HostAndPort {
  const [, bracketed, plain, digits] = /^(?:\[([^[\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(address) ?? []
  const [host, port] = [bracketed ?? plain, Number(digits)]
  if (host === undefined || port < 1 || port > 65_535)
    throw new RegentError('REGENT_GROUP_PROTOCOL', say`"${address}" is no address of a member of a group`)
  return { host, port }
}
