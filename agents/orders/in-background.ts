import type { Errand } from '../instance/facts.ts'
import { learn, type Learner } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'

/**
 * Begins what waits for acknowledgements, and looks at the server again once that has ended. Nothing is begun while the
 * same still goes on.
 * @param errand what says in `jobs` that it goes on
 * @param failed told the error that ended it
 */
export function inBackground(
  parts: Learner & Pick<Parts, 'changed' | 'observer'>,
  errand: Exclude<Errand, 'streamsCopy' | 'writesMarker'>,
  work: () => Promise<void>,
  failed: (error: unknown) => void,
): void {
  const { jobs, observer, changed } = parts
  if (jobs[errand]) return
  learn(parts, { fact: 'errandBegan', errand })
  work()
    .then(() => {
      observer.outdate()
      return observer.refresh()
    })
    .catch(failed)
    .finally(() => {
      learn(parts, { fact: 'errandEnded', errand })
      changed()
    })
}
