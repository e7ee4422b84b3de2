import { isWhole } from './runtime-socket.ts'

/** A line of HAProxy's `show stat`: a frontend, or a server of a backend. */
export interface ProxyStatistics {
  /** Name of the frontend or the backend. */
  readonly proxy: string
  /** `FRONTEND`, `BACKEND`, or the name of the server line. */
  readonly server: string
  /** Open sessions. */
  readonly sessions: number
  /** Sessions since HAProxy began. */
  readonly sessionsTotal: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly connectErrors: number
}

/**
 * The lines in an answer to `show stat`, which is CSV with a line of names. Throws on any other text, and on a part of
 * an answer: the sessions of a frontend that is left out would count as none.
 */
export function statisticsIn(text: string): readonly ProxyStatistics[] {
  const [head = '', ...rows] = text.trim().split('\n')
  const names = head.replace(/^# /, '').split(',')
  if (names[0] !== 'pxname' || !isWhole(text))
    throw new Error(`HAProxy did not tell its statistics: ${text.slice(0, 200)}`)
  return rows.map((row) => {
    const cells = row.split(',')
    const cell = (name: string): string => cells[names.indexOf(name)] ?? ''
    return {
      ...{ proxy: cell('pxname'), server: cell('svname') },
      ...{ sessions: Number(cell('scur')), sessionsTotal: Number(cell('stot')) },
      ...{ bytesIn: Number(cell('bin')), bytesOut: Number(cell('bout')), connectErrors: Number(cell('econ')) },
    }
  })
}

export function sessionsIn(statistics: readonly ProxyStatistics[]): number {
  return statistics.filter(({ server }) => server === 'FRONTEND').reduce((sum, { sessions }) => sum + sessions, 0)
}
