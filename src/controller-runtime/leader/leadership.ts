import { RegentError } from '#common/errors/errors.ts'
import { say, type Sayable } from '#common/sentence/sentence.ts'
import type { KubeClient, RequestOptions } from '../client/kube-client.ts'

/** The lead of this process, as far as the process can know. */
export interface Leadership {
  /** Aborted when leadership is lost or may be, and once the leader's work has ended and it is given back. */
  readonly lost: AbortSignal
  /**
   * Whether leadership still stands, by the time that has passed since it was last confirmed. A process that was frozen
   * gets false here before any timer of its own has run, so ask right before every act.
   */
  holds(): boolean
}

/**
 * The same client for a leader: every write asks `leadership.holds()` as the last thing before it is sent, even after a
 * wait in the throttle, and fails with `REGENT_NOT_LEADER` instead where it does not hold. What is already on the wire
 * cannot be called back, so what must never be overwritten by a former leader needs a compare-and-swap besides.
 */
export function leaderClient(client: KubeClient, leadership: Leadership): KubeClient {
  function fenced<Options extends RequestOptions>(options: Options): Options {
    const signal = options.signal === undefined ? leadership.lost : AbortSignal.any([options.signal, leadership.lost])
    return { ...options, signal, guard: () => assertHolds(leadership) }
  }

  return {
    get: (resource, key, options) => client.get(resource, key, options),
    list: (resource, options) => client.list(resource, options),
    watch: (resource, options) => client.watch(resource, options),
    create: async (resource, object, options = {}) => client.create(resource, object, fenced(options)),
    update: async (resource, object, options = {}) => client.update(resource, object, fenced(options)),
    apply: async (resource, object, options) => client.apply(resource, object, fenced(options)),
    patch: async (resource, key, patch, options = {}) => client.patch(resource, key, patch, fenced(options)),
    delete: async (resource, key, options = {}) => client.delete(resource, key, fenced(options)),
  }
}

function assertHolds(leadership: Leadership): void {
  if (!leadership.holds()) throw notLeader(say`it was lost`)
}

export function notLeader(why: Sayable): RegentError {
  return new RegentError('REGENT_NOT_LEADER', say`this process leads no longer: ${why}`)
}
