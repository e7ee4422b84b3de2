import type { Adoption } from '../adoption.ts'
import { answers, type Look } from './look.ts'

/** What becomes of semi-synchronous replication once these servers are managed: a line each. Pure. */
export function whatSemiSyncBecomes({ mode }: Adoption, looks: readonly Look[]): readonly string[] {
  const on = looks.filter(answers).filter(({ server }) => server.semiSyncSource || server.semiSyncReplica)
  if (mode !== 'async' || on.length === 0) return []
  return [
    `semi-synchronous replication is on: ${on.map(({ host }) => host.instance).join(', ')}`,
    '  mode async turns it off while Regent manages these servers, and writes wait for no replica then',
    '  in the adoption file, to keep it: mode: semisync, which needs SSH to each host',
  ]
}
