/** Resolves once the signal is aborted; at once where it is. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Aborted when this process is told to stop, by SIGTERM or SIGINT. */
export function toldToStop(): AbortSignal {
  const stop = new AbortController()
  for (const word of ['SIGTERM', 'SIGINT'] as const)
    process.once(word, () => stop.abort(new Error(`told to stop by ${word}`)))
  return stop.signal
}
