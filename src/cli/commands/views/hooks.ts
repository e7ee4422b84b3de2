import { Option, type Command } from 'commander'
import { momentNames, type HookMoment } from '#failover/protocol/hook-moments.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { clusterReference } from '#cli/terminal/arguments.ts'
import { withApi, withDryRun, type DryRunOptions } from '#cli/terminal/common-options.ts'
import type { Io } from '#cli/terminal/io.ts'

interface TestOptions extends DryRunOptions {
  readonly moment?: HookMoment
}

export function addHooks(program: Command, io: Io): void {
  const hooks = program.command('hooks').description('Try what is run around a change of the primary.')
  const test = hooks
    .command('test')
    .description('Run the hooks with an example of what they are told, marked as a test, and say what each did.')
    .argument('[cluster]', 'the cluster; <namespace>/<name> on Kubernetes', clusterReference)
    .addOption(new Option('--moment <moment>', 'only those of this moment').choices([...momentNames]))
  withApi(withDryRun(test)).action((cluster: string | undefined, options: TestOptions) =>
    tryHooks(io, cluster, options),
  )
}

/** Throws `REGENT_REFUSED` where a hook fails. */
async function tryHooks(io: Io, cluster: string | undefined, options: TestOptions): Promise<void> {
  const { findPlace } = await import('#cli/connection/connect.ts')
  const { toJson } = await import('#cli/terminal/json-output.ts')
  const { dryRun, moment, output } = options
  await using place = await findPlace(io, options, cluster)
  const { client, path } = await place.connect(cluster)
  const result = await client.operate(path, 'test-hooks', { moment, dryRun })
  if (output === 'json') io.out(toJson(result))
  else
    for (const line of [
      dryRun ? `dry run: ${result.sentence}` : result.sentence,
      ...(result.plan ?? []).map((one) => `  ${one}`),
    ])
      io.out(line)
  const failed = (result.plan ?? []).filter((line) => line.includes(': failed: '))
  if (failed.length > 0)
    throw new RegentError(
      'REGENT_REFUSED',
      say`${failed.length === 1 ? say`a hook` : say`${failed.length} hooks`} failed`,
    )
}
