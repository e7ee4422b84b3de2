import type { World } from '#common/ports/ports.ts'
import { jittered } from '../client/backoff.ts'
import { isConflict, isNotFound } from '../client/kube-api-error.ts'
import type { KubeClient } from '../client/kube-client.ts'
import type { KubeObject, ObjectKey, Resource } from '../objects/objects.ts'

export interface ConflictRetry {
  readonly attempts: number
  readonly delayMs: number
  /** Each delay is so many times the one before. */
  readonly factor: number
  /** Each delay is lengthened by a random part of itself, up to this times. */
  readonly jitter: number
}

/** For what few write: 5 attempts, 10 ms apart, as client-go's. */
const quickRetry: ConflictRetry = { attempts: 5, delayMs: 10, factor: 1, jitter: 0.1 }
/** For what many write: 4 attempts, 10, 50 and 250 ms apart, as client-go's. */
export const patientRetry: ConflictRetry = { attempts: 4, delayMs: 10, factor: 5, jitter: 0.1 }

export interface RetryOptions {
  readonly retry?: ConflictRetry
  readonly signal?: AbortSignal
}

/**
 * Attempts again when somebody else wrote first, and gives the last conflict when the attempts are used up. `attempt`
 * must read anew and decide anew: to repeat the same write is to undo the other's. Any other failure is given at once.
 */
export async function retryOnConflict<Result>(
  world: Pick<World, 'timers' | 'random'>,
  attempt: () => Promise<Result>,
  { retry = quickRetry, signal }: RetryOptions = {},
): Promise<Result> {
  let delayMs = retry.delayMs
  for (let left = retry.attempts; ; left--) {
    try {
      return await attempt()
    } catch (error) {
      if (!isConflict(error) || left <= 1) throw error
    }
    await world.timers.sleep(jittered(delayMs, retry.jitter, world.random), signal)
    delayMs *= retry.factor
  }
}

export interface ChangeParts {
  readonly client: Pick<KubeClient, 'get' | 'update'>
  readonly world: Pick<World, 'timers' | 'random'>
}

export interface Change<Kind extends KubeObject> extends RetryOptions {
  readonly resource: Resource<Kind>
  readonly key: ObjectKey
  /** The object as it should be; the very same one where nothing is to be done. May be asked more than once. */
  readonly change: (current: Kind) => Kind
}

/**
 * Reads the object as it is now, changes it and writes it, as often as it takes (see `retryOnConflict`). Gives it as it
 * is afterwards; undefined where there is none.
 */
export async function changeObject<Kind extends KubeObject>(
  { client, world }: ChangeParts,
  { resource, key, change, ...options }: Change<Kind>,
): Promise<Kind | undefined> {
  const request = options.signal ? { signal: options.signal } : {}
  const attempt = async () => {
    const current = await client.get(resource, key, request)
    if (!current) return undefined
    const wanted = change(current)
    return wanted === current ? current : await client.update(resource, wanted, request)
  }
  try {
    return await retryOnConflict(world, attempt, options)
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}
