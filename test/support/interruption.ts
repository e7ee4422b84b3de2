/** Aborted when somebody ends this program. Told again, the program goes on taking down what it started. */
export function interruption(): AbortSignal {
  const interrupt = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => interrupt.abort(new Error(`ended by ${signal}`)))
  return interrupt.signal
}

/** Rejects with the signal's reason once the signal is aborted; nothing is begun where it is. */
export async function untilInterrupted<Result>(
  begin: () => Promise<Result>,
  interrupted: AbortSignal,
): Promise<Result> {
  interrupted.throwIfAborted()
  const stopped = new Promise<never>((_resolve, reject) =>
    interrupted.addEventListener('abort', () => reject(interrupted.reason as Error), { once: true }),
  )
  const work = begin()
  // What is under way then fails as the cluster goes down; that is no news any more.
  work.catch(() => undefined)
  return Promise.race([work, stopped])
}
