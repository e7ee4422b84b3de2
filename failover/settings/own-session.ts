import { settingsTable } from './table.ts'

/**
 * What each session of an agent begins with: whatever people set for everybody must not change what the statements of
 * the agent do. More of its own may follow, after a comma.
 */
export const ownSession: string = `SET ${settingsTable
  .flatMap(({ bindsAgents: bond }) => (bond !== undefined && 'session' in bond ? [bond.session] : []))
  .toSorted((a, b) => rank(a) - rank(b))
  .join(', ')}`

/** Names of character sets stand first, and after them the word that all others are of the session. */
function rank(session: string): number {
  if (session.startsWith('NAMES')) return 0
  return session.startsWith('SESSION') ? 1 : 2
}
