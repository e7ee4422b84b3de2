/**
 * Does this for all at once, and waits for the end of each one, also where one fails: who cleans up after a failure
 * finds nothing that still begins. Rejects with the first failure then.
 */
export async function eachOne<T>(all: Iterable<T>, act: (one: T) => Promise<unknown>): Promise<void> {
  const ends = await Promise.allSettled([...all].map((one) => act(one)))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}
