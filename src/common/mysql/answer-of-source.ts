/**
 * Numbers of the client that come only of an answer: `CR_SSL_CONNECTION_ERROR` and `CR_SECURE_AUTH`, and
 * `CR_AUTH_PLUGIN_CANNOT_LOAD` and `CR_AUTH_PLUGIN_ERR` ("Authentication requires secure connection").
 */
const ofAnAnswer: ReadonlySet<number> = new Set([2026, 2049, 2059, 2061])

/**
 * Whether the number by which a receiver failed says that its source answered, if only to refuse: no login is no death.
 * Other numbers from 2000 to 2999 are of a client that nobody answered.
 */
export function isAnswerOfSource(errno: number): boolean {
  return errno > 0 && (Math.floor(errno / 1_000) !== 2 || ofAnAnswer.has(errno))
}
