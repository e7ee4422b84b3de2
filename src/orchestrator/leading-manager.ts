import { describeError } from '#common/errors/errors.ts'
import type { Logger } from '#common/log/logger.ts'
import { askManager } from './ask-manager.ts'
import { askedHeader, type Asked } from './others.ts'
import { refused, type Answer } from './routes/answers.ts'

/** For whom a manager that does not lead asks; such a request is handed on to nobody. */
export const forwardedHeader = 'x-regent-asks-for'

export interface Forwarded extends Asked {
  /** The address of the caller. */
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
  async answer({ ip, ...asked }: Forwarded): Promise<Answer | undefined> {
    const { [forwardedHeader]: forwarded, [askedHeader]: beside } = asked.headers
    const address = forwarded === undefined ? this.#address() : undefined
    if (address === undefined) return undefined
    const told = { [forwardedHeader]: ip, ...(typeof beside === 'string' && { [askedHeader]: beside }) }
    try {
      return await askManager(`http://${address}`, asked, told)
    } catch (error) {
      const why = `the manager that leads, at ${address}, does not answer: ${describeError(error)}`
      this.#log.warn(`orchestrator’s interface: ${why}`)
      return asked.route.changes === true ? refused(`Not leader: ${why}`) : undefined
    }
  }
}
