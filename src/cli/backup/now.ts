import { RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import { mebibytes } from '#common/text/words.ts'
import { describeBackup } from '#topology/snapshot/copies.ts'
import type { ClusterView } from '#api-contract/views.ts'
import { findPlace } from '../connection/connect.ts'
import type { Connection } from '../connection/place.ts'
import type { Io } from '../terminal/io.ts'
import { toJson } from '../terminal/json-output.ts'
import type { NowOptions } from './backup-options.ts'
import { untilEnded } from './until-ended.ts'

/** Has a backup made, and tells how that goes. Throws `REGENT_REFUSED` with the reason where the backup fails. */
export async function backUpNow(io: Io, cluster: string | undefined, options: NowOptions): Promise<void> {
  await using place = await findPlace(io, options, cluster)
  const connection = await place.connect(cluster)
  const { instance, dryRun, output } = options
  const result = await connection.client.operate(connection.path, 'backup', { instance, dryRun })
  const { backup } = result
  if (backup !== undefined && options.wait && !result.dryRun) {
    io.note(result.sentence)
    const done = await untilMade(io, connection, { backup, instance: result.instance ?? '' })
    return io.out(output === 'json' ? toJson({ ...result, ...done }) : done.sentence)
  }
  if (output === 'json') return io.out(toJson(result))
  io.out(result.dryRun ? `dry run: ${result.sentence}` : result.sentence)
}

interface Made {
  readonly sentence: string
  readonly rawBytes: number
  readonly storedBytes: number
}

function untilMade(
  io: Io,
  connection: Connection,
  { backup, instance }: { readonly backup: string; readonly instance: string },
): Promise<Made> {
  const { cluster } = connection
  return untilEnded(io, connection, {
    what: `backup ${backup}`,
    instance,
    of: ({ backup: state }) => (state?.name === backup ? state : undefined),
    ended: (state) => madeOf(state, cluster),
    line: (state) => String(describeBackup(state)),
    perhaps: `; "regent backup list ${cluster}" shows whether it is whole`,
  })
}

/** Undefined while it is being made. */
function madeOf(
  { name, stage, rawBytes, storedBytes, sentence }: NonNullable<ClusterView['instances'][number]['backup']>,
  cluster: string,
): Made | undefined {
  if (stage === 'failed')
    throw new RegentError('REGENT_REFUSED', say`backup ${name} of ${cluster} failed: ${reported(sentence)}`)
  if (stage !== 'done') return undefined
  const [data, stored] = [mebibytes(rawBytes), mebibytes(storedBytes)]
  return {
    sentence: `backup ${name} of ${cluster} is made: ${data} of data, ${stored} in the store${sentence === '' ? '' : `; ${sentence}`}`,
    rawBytes,
    storedBytes,
  }
}
