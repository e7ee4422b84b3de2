import type { Reconcile } from '#controller-runtime/controller/controller.ts'
import { keyText, type ObjectKey } from '#controller-runtime/objects/objects.ts'

/**
 * What a manager left undone because it did not lead: that, and nothing else, is done when it leads again. A manager
 * that loses its lease for a moment, as one that is starved does, would else write every object of every cluster anew,
 * starve the more, and lose its lease again.
 */
export class PassedOver {
  readonly #leads: () => boolean
  readonly #keys = new Map<string, ObjectKey>()

  constructor(leads: () => boolean) {
    this.#leads = leads
  }

  /** The same, remembering each key for which it ran without the lead; a later run with the lead makes up for that. */
  noting(reconcile: Reconcile): Reconcile {
    return async (key, signal) => {
      const text = keyText(key)
      const led = this.#leads()
      if (!led) this.#keys.set(text, key)
      // A run that throws is tried again by its controller, with the lead or without.
      const result = await reconcile(key, signal)
      if (led && this.#leads()) this.#keys.delete(text)
      else this.#keys.set(text, key)
      return result
    }
  }

  get keys(): readonly ObjectKey[] {
    return [...this.#keys.values()]
  }
}
