/** A part of the agent that is started, and ended later by what its start gives. */
export interface Service {
  readonly start: () => Promise<End>
}

/** Takes nothing new from the moment of the call, and resolves when everything under way has ended. */
export type End = () => Promise<void>

/**
 * Starts services one after the other, and gives what ends them: in the opposite order each is told, and all are waited
 * for. Where one cannot be started, those before it are ended, and its error is thrown.
 */
export async function startInOrder(services: readonly Service[]): Promise<End> {
  const ends: End[] = []
  const endAll: End = async () => {
    const results = await Promise.allSettled(
      ends
        .splice(0)
        .reverse()
        .map((end) => end()),
    )
    const failure = results.find((result) => result.status === 'rejected')
    if (failure !== undefined) throw failure.reason
  }
  try {
    for (const { start } of services) ends.push(await start())
  } catch (error) {
    await endAll()
    throw error
  }
  return endAll
}
