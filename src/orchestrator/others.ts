import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { describeError } from '#common/errors/errors.ts'
import type { Logger } from '#common/log/logger.ts'
import { allOf } from '#common/text/words.ts'
import { askManager, type Asking } from './ask-manager.ts'
import { shown } from './fleet/hints.ts'
import { refused, type Answer, type Envelope } from './routes/answers.ts'
import { isKnownBy, type Meant } from './routes/meant.ts'
import type { Route } from './routes/route.ts'

/** A request that says so comes from another manager: nobody is asked once more. */
export const askedHeader = 'x-regent-asked'
/** Below which all routes are, there too. */
const root = '/api'

/** What one request asks of the managers beside. */
export interface Asked extends Asking {
  readonly route: Route
}

/** Neither: nobody else is known to be meant. */
interface Whose {
  /** The only other manager that knows it. */
  readonly at?: string
  /** Why nobody could tell. */
  readonly why?: string
}

/** Other managers whose clusters are answered for here, too: each goes on answering for itself. */
export class Others {
  readonly #addresses: readonly string[]
  readonly #log: Logger
  /** By which a manager knows what it has asked itself: one list of addresses may be given to all of them. */
  readonly #id = randomUUID()

  constructor(addresses: readonly string[], log: Logger) {
    this.#addresses = [...new Set(addresses.map((address) => address.replace(/\/+$/, '')))]
    this.#log = log
  }

  isItself(headers: IncomingHttpHeaders): boolean {
    return headers[askedHeader] === this.#id
  }

  /**
   * What is known nowhere but there comes from there. A list has the entries of all of them, and what names no cluster
   * is done by all of them.
   */
  async complete(own: Answer, asked: Asked): Promise<Answer> {
    if (this.#addresses.length === 0 || asked.headers[askedHeader] !== undefined) return own
    if (namesCluster(asked.route)) return isUnknown(own) ? this.#firstKnown(own, asked) : own
    if (asked.route.changes !== true && listIn(own) === undefined) return own
    const all = await Promise.all(this.#addresses.map((address) => this.#ask(address, asked)))
    return all.filter((answer) => !isUnknown(answer)).reduce((one, other) => together(one, other, asked.route), own)
  }

  /** A manager that cannot say whether it knows the cluster hides no answer of another manager. */
  async #firstKnown(own: Answer, asked: Asked): Promise<Answer> {
    let withoutWord: Answer | undefined
    for (const address of this.#addresses) {
      const answer = await this.#ask(address, asked)
      if (saysNothing(answer)) withoutWord ??= answer
      else if (!isUnknown(answer)) return answer
    }
    return own.status === 200 ? own : (withoutWord ?? own)
  }

  /**
   * The manager that knows what is to be changed. Managers do not know of each other’s clusters, so two of these may
   * have one name: then nobody could tell which is meant. A manager that does not answer hinders nobody.
   */
  async whose(meant: Meant | undefined, headers: IncomingHttpHeaders): Promise<Whose> {
    if (meant === undefined || this.#addresses.length === 0 || headers[askedHeader] !== undefined) return {}
    const { name, path, isOwn } = meant
    const knowing = await this.#those(path, headers, (looked) => isKnownBy(looked, meant))
    if (knowing.size === 0) return {}
    // Several managers of one cluster know that, and one of them leads.
    const leading = await this.#those('leader-check', headers, ({ status }) => status === 200)
    const those = [...knowing].filter((address) => leading.has(address))
    const [at] = those
    if (!isOwn && those.length === 1 && at !== undefined) return { at }
    const all = [...(isOwn ? ['this one'] : []), ...those]
    return all.length < 2
      ? {}
      : {
          why: `${shown(name)} is a name at several managers, ${allOf(all)}: name a server by its address (--orchestrator-hosts address), or ask one of them alone`,
        }
  }

  /** What that manager answers. */
  async askAt(address: string, asked: Asked): Promise<Answer> {
    return this.#ask(address, asked)
  }

  /** Addresses where that is answered so. */
  async #those(
    path: string,
    headers: IncomingHttpHeaders,
    isSo: (answer: Answer) => boolean,
  ): Promise<ReadonlySet<string>> {
    const asking = { url: `${root}/${path}`, headers, route: {} }
    const answers = await Promise.all(this.#addresses.map(async (address) => this.#ask(address, asking)))
    return new Set(this.#addresses.filter((_, at) => isSo(answers[at] ?? refused(''))))
  }

  async #ask(address: string, asking: Asking): Promise<Answer> {
    try {
      return await askManager(address, asking, { [askedHeader]: this.#id })
    } catch (error) {
      const why = `the manager at ${address} ${silent}: ${describeError(error)}`
      this.#log.warn(`orchestrator’s interface: ${why}`)
      return refused(why)
    }
  }
}

/** The route means one cluster, or one server of a cluster. */
function namesCluster({ path }: Route): boolean {
  return /:(clusterHint|clusterAlias|clusterName|host|id|uid|pool)\b/.test(path)
}

/** What a manager answers itself: nothing that it does not know. */
export const itself = 'Cannot read instance: this manager asks itself'

/** In the words of `hints.ts`, and of `acknowledging.ts`. */
function isUnknown({ body }: Answer): boolean {
  const { Code, Message } = (body ?? {}) as Partial<Envelope>
  if (Array.isArray(body)) return body.length === 0
  return Code === 'ERROR' && /^Unable to determine cluster name|^Cannot read (instance|recovery)/.test(Message ?? '')
}

const silent = 'does not answer'

/** In the words of `#ask`, and of `create-orchestrator.ts`, where no cluster is looked for yet. */
function saysNothing({ body }: Answer): boolean {
  const { Code, Message = '' } = (body ?? {}) as Partial<Envelope>
  if (Code !== 'ERROR') return false
  return (
    /^Unauthorized$|^Not leader:/.test(Message) || (Message.startsWith('the manager at ') && Message.includes(silent))
  )
}

function listIn({ body }: Answer): readonly unknown[] | undefined {
  if (Array.isArray(body)) return body as unknown[]
  const { Details } = (body ?? {}) as Partial<Envelope>
  return Array.isArray(Details) ? (Details as unknown[]) : undefined
}

/** A manager that does not answer takes nothing from a list; where something was to be done, that is told. */
function together(one: Answer, other: Answer, { changes }: Route): Answer {
  const [list, more] = [listIn(one), listIn(other)]
  const isTold = list === undefined || (changes === true && other.status !== 200)
  if (isTold) return one.status !== 200 || other.status === 200 ? one : other
  if (more === undefined) return one
  const all = [...list, ...more]
  return { ...one, body: Array.isArray(one.body) ? all : { ...(one.body as Envelope), Details: all } }
}
