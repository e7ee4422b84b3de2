import { describeError } from '#common/errors/errors.ts'
import type { Logger } from '#common/log/logger.ts'
import type { Timers } from '#common/ports/ports.ts'
import { aborted } from '#common/process/signals.ts'
import type { KubeClient } from '../client/kube-client.ts'
import type { KubeObject, Resource } from '../objects/objects.ts'

const namespaces: Resource = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
}

export interface AbsentNamespacesParts {
  readonly client: Pick<KubeClient, 'get'>
  readonly timers: Timers
  readonly logger: Logger
}

/** So often one that is absent is looked for. */
const lookEveryMs = 10_000
const lookDeadlineMs = 10_000

interface Absent {
  readonly appeared: PromiseWithResolvers<void>
}

/**
 * Namespaces that are to be watched and are not there: a list in one is refused for ever, since the Role that allowed
 * it went with the namespace. A manager that waits for all first lists would wait for ever, with all other namespaces.
 */
export class AbsentNamespaces {
  readonly #parts: AbsentNamespacesParts
  readonly #looks = new Map<string, Promise<boolean>>()
  readonly #absent = new Map<string, Absent>()

  constructor(parts: AbsentNamespacesParts) {
    this.#parts = parts
  }

  /** As it was found first, whoever asks. False where nobody can tell: the lists tell then. */
  isAbsent(namespace: string): Promise<boolean> {
    const known = this.#looks.get(namespace)
    if (known !== undefined) return known
    const look = this.#lookFirst(namespace)
    this.#looks.set(namespace, look)
    return look
  }

  /** Resolves once one that was absent is there, or the signal is aborted. */
  async appeared(namespace: string, signal: AbortSignal): Promise<void> {
    const { promise } = this.#absent.get(namespace)?.appeared ?? {}
    if (promise === undefined || signal.aborted) return
    await Promise.race([promise, aborted(signal)])
  }

  /** Looks for those that are absent until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#parts.timers.sleep(lookEveryMs, signal).catch(() => undefined)
      if (!signal.aborted) await Promise.all([...this.#absent].map(([name, absent]) => this.#lookAgain(name, absent)))
    }
  }

  async #lookFirst(namespace: string): Promise<boolean> {
    const { logger } = this.#parts
    const found = await this.#find(namespace)
    if (found === 'unknown' || isThere(found)) return false
    this.#absent.set(namespace, { appeared: Promise.withResolvers() })
    logger.warn(
      { namespace },
      `namespace ${namespace}, which is to be watched, ${found === undefined ? 'is not there' : 'is being deleted'}: ` +
        'nothing in it is looked at until it is made, and all others are watched',
    )
    return true
  }

  async #lookAgain(namespace: string, { appeared }: Absent): Promise<void> {
    const found = await this.#find(namespace)
    if (found === 'unknown' || !isThere(found)) return
    this.#absent.delete(namespace)
    this.#parts.logger.info({ namespace }, `namespace ${namespace} is there, and is watched from now on`)
    appeared.resolve()
  }

  async #find(namespace: string): Promise<KubeObject | undefined | 'unknown'> {
    try {
      return await this.#parts.client.get(
        namespaces,
        { namespace: '', name: namespace },
        { deadlineMs: lookDeadlineMs },
      )
    } catch (error) {
      // An older chart gave no right to look.
      this.#parts.logger.debug({ namespace, err: error }, `namespace ${namespace}: ${describeError(error)}`)
      return 'unknown'
    }
  }
}

/** A namespace that is being deleted takes nothing new, and what is in it goes. */
function isThere(found: KubeObject | undefined): boolean {
  return found !== undefined && found.metadata.deletionTimestamp === undefined
}
