import type { OperationDetails, OperationName } from '#api-contract/operations.ts'
import type { DryRunOptions } from '#cli/terminal/common-options.ts'
import { findPlace } from '#cli/connection/connect.ts'
import { toJson } from '#cli/terminal/json-output.ts'
import { commandName, type Io } from '#cli/terminal/io.ts'

interface Asked<N extends OperationName> {
  readonly operation: N
  readonly details: OperationDetails<N>
}

/** Asks the manager to do something to a cluster, and prints how it ended or what it would do. */
export async function operate<N extends OperationName>(
  io: Io,
  options: DryRunOptions,
  cluster: string | undefined,
  { operation, details }: Asked<N>,
): Promise<void> {
  await using place = await findPlace(io, options, cluster)
  const { client, cluster: name, path } = await place.connect(cluster)
  const result = await client.operate(path, operation, { ...details, dryRun: options.dryRun })
  if (options.output === 'json') return io.out(toJson(result))
  io.out(result.dryRun ? `dry run: ${result.sentence}` : result.sentence)
  for (const step of result.plan ?? []) io.out(`  ${step}`)
  if (result.recovery !== undefined) io.out(`timeline: ${commandName(io)} recoveries ${name} ${result.recovery}`)
}
