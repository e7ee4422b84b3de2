import { RegentError } from '#common/errors/errors.ts'
import { say, type Sayable } from '#common/sentence/sentence.ts'
import type { Situation } from '#failover/judge/situation.ts'
import type { BackupStore } from '#failover/protocol/backup-store.ts'

/** The store that the spec names. Throws `REGENT_REFUSED` where there is none. @param what is refused then: `backup` */
export function storeIn({ spec, cluster }: Situation, what: Sayable): BackupStore {
  if (spec.backup !== undefined) return spec.backup.store
  throw new RegentError(
    'REGENT_REFUSED',
    say`no ${what} of ${cluster}: its spec names no store; give backup.store in the spec, as docs/guide/backup.md shows`,
    { remedy: '' },
  )
}
