import type { IncomingHttpHeaders } from 'node:http'
import type { Answer } from './routes/answers.ts'
import type { Route } from './routes/route.ts'

/** A switchover that somebody waits for has ended by then. */
const deadlineMs = 120_000
const readDeadlineMs = 5_000

/** What one request asks of another manager. */
export interface Asking {
  readonly route: Pick<Route, 'changes'>
  /** Path and query, as this manager was asked. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
}

/**
 * What another manager answers. The login of whoever asks goes along.
 *
 * @param address `http://host:port`
 * @param told headers by which that manager knows who asks
 * @throws what `fetch` does where that manager does not answer
 */
export async function askManager(
  address: string,
  { route, url, headers: { authorization } }: Asking,
  told: Readonly<Record<string, string>>,
): Promise<Answer> {
  const response = await fetch(`${address}${url}`, {
    headers: { ...told, ...(authorization !== undefined && { authorization }) },
    signal: AbortSignal.timeout(route.changes === true ? deadlineMs : readDeadlineMs),
  })
  return { status: response.status, body: await response.json() }
}
