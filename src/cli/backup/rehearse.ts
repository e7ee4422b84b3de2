import { Option, type Command } from 'commander'
import { RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import { clusterReference, instanceArgument } from '../terminal/arguments.ts'
import { withApi, withDryRun } from '../terminal/common-options.ts'
import type { Connection } from '../connection/place.ts'
import type { Io } from '../terminal/io.ts'
import type { NowOptions } from './backup-options.ts'
import { untilEnded } from './until-ended.ts'

export function addRehearse(backup: Command, io: Io): void {
  const command = backup
    .command('rehearse')
    .description(
      'Restore the newest backup and its binlogs into a throw-away server of an instance, check every table, and remove that again. Returns when that is done.',
    )
    .argument('[cluster]', 'the cluster; <namespace>/<name> on Kubernetes', clusterReference)
    .addOption(
      new Option('--instance <instance>', 'rehearses (default: the replica that hurts least)').argParser(
        instanceArgument,
      ),
    )
    .option('--no-wait', 'return when it has begun')
  withApi(withDryRun(command)).action(async (cluster: string | undefined, options: NowOptions) =>
    rehearse(io, cluster, options),
  )
}

/** Throws `REGENT_REFUSED` with the reason where the rehearsal fails. */
async function rehearse(io: Io, cluster: string | undefined, options: NowOptions): Promise<void> {
  const { findPlace } = await import('../connection/connect.ts')
  const { toJson } = await import('../terminal/json-output.ts')
  await using place = await findPlace(io, options, cluster)
  const connection = await place.connect(cluster)
  const { instance, dryRun, output } = options
  const result = await connection.client.operate(connection.path, 'rehearse', { instance, dryRun })
  const { rehearsal } = result
  if (rehearsal !== undefined && options.wait) {
    io.note(result.sentence)
    const sentence = await untilRehearsed(io, connection, { rehearsal, instance: result.instance ?? '' })
    return io.out(output === 'json' ? toJson({ ...result, sentence }) : sentence)
  }
  if (output === 'json') return io.out(toJson(result))
  io.out(result.dryRun ? `dry run: ${result.sentence}` : result.sentence)
}

function untilRehearsed(
  io: Io,
  connection: Connection,
  { rehearsal, instance }: { readonly rehearsal: string; readonly instance: string },
): Promise<string> {
  return untilEnded(io, connection, {
    what: `rehearsal ${rehearsal}`,
    instance,
    of: ({ rehearsal: state }) => (state?.name === rehearsal ? state : undefined),
    ended: ({ stage, sentence }) => {
      if (stage === 'failed')
        throw new RegentError(
          'REGENT_REFUSED',
          say`rehearsal ${rehearsal} of ${connection.cluster} failed: ${reported(sentence)}`,
        )
      return stage === 'done' ? sentence : undefined
    },
    line: ({ sentence }) => sentence,
    perhaps: ', and that ends a rehearsal',
  })
}
