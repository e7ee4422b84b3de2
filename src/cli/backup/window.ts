import { describePossible } from '#backup/restore/window.ts'
import { restoreWindow } from '#backup/transfer/stored-backups.ts'
import type { RestoreWindow } from '#failover/protocol/stored-backups.ts'
import type { Io } from '../terminal/io.ts'
import { toJson } from '../terminal/json-output.ts'
import { asked, storeDeadlineMs } from './asked.ts'
import type { AskedOptions } from './backup-options.ts'

/** From when to when the cluster can be restored, with each hole of the archive. */
export async function showWindow(io: Io, wanted: string | undefined, options: AskedOptions): Promise<void> {
  const { cluster, leftOut, spans, alone, holes } = await asked(io, wanted, options, {
    here: restoreWindow,
    there: ({ client, path }) => client.get<RestoreWindow>(`${path}/backups/window`, storeDeadlineMs),
  })
  for (const why of leftOut) io.note(why)
  if (options.output !== 'json') {
    io.out(`cluster ${cluster} can be restored to: ${String(describePossible({ spans, alone }))}`)
    for (const why of holes) io.out(why)
    return
  }
  const time = (ms: number) => new Date(ms).toISOString()
  io.out(
    toJson({ cluster, spans: spans.map(({ fromMs, toMs }) => ({ from: time(fromMs), to: time(toMs) })), alone, holes }),
  )
}
