import type { Parts } from '../instance/parts.ts'

/**
 * Begins what waits for acknowledgements, and looks at the server again once that has ended. Nothing is begun while the
 * same still goes on.
 * @param job what says in `jobs` that it goes on
 * @param failed told the error that ended it
 */
export function inBackground(
  { jobs, observer, changed }: Parts,
  job: 'empties' | 'changesPasswords',
  work: () => Promise<void>,
  failed: (error: unknown) => void,
): void {
  if (jobs[job]) return
  jobs[job] = true
  work()
    .then(() => {
      observer.outdate()
      return observer.refresh()
    })
    .catch(failed)
    .finally(() => {
      jobs[job] = false
      changed()
    })
}
