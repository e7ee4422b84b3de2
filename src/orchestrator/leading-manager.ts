import type { IncomingHttpHeaders } from 'node:http'
import { describeError } from '#common/errors/errors.ts'
import type { Logger } from '#common/log/logger.ts'
import { askedHeader } from './others.ts'
import { refused, type Answer } from './routes/answers.ts'
import type { Route } from './routes/route.ts'

/** For whom a manager that does not lead asks; such a request is handed on to nobody. */
export const forwardedHeader = 'x-regent-asks-for'
/** A switchover that somebody waits for has ended by then. */
const deadlineMs = 120_000
const readDeadlineMs = 5_000

export interface Forwarded {
  readonly route: Route
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** Who asks, by the address. */
  readonly ip: string
}

/**
 * The manager that leads, asked by one that does not: clients that know one address for all managers, such as that of a
 * Service, reach any of them, and only the one that leads knows and does everything.
 */
export class LeadingManager {
  readonly #address: () => string | undefined
  readonly #log: Logger

  /** @param address `host:port` of its interface; undefined where nobody else leads, or that is not known */
  constructor(address: () => string | undefined, log: Logger) {
    this.#address = address
    this.#log = log
  }

  /** Undefined where this manager is to answer by itself: what is only read it knows too, if a moment later. */
  async answer({ route, url, headers, ip }: Forwarded): Promise<Answer | undefined> {
    const address = headers[forwardedHeader] === undefined ? this.#address() : undefined
    if (address === undefined) return undefined
    const isChange = route.changes === true
    const { authorization, [askedHeader]: asked } = headers
    try {
      const response = await fetch(`http://${address}${url}`, {
        headers: {
          [forwardedHeader]: ip,
          ...(authorization !== undefined && { authorization }),
          ...(typeof asked === 'string' && { [askedHeader]: asked }),
        },
        signal: AbortSignal.timeout(isChange ? deadlineMs : readDeadlineMs),
      })
      return { status: response.status, body: await response.json() }
    } catch (error) {
      const why = `the manager that leads, at ${address}, does not answer: ${describeError(error)}`
      this.#log.warn(`orchestrator’s interface: ${why}`)
      return isChange ? refused(`Not leader: ${why}`) : undefined
    }
  }
}
