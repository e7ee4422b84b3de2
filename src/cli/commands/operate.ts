import type { OperationResult } from '#api-contract/operation-result.ts'
import type { ApiOptions } from '../terminal/common-options.ts'
import { findPlace } from '../connection/connect.ts'
import { toJson } from '../terminal/json-output.ts'
import { commandName, type Io } from '../terminal/io.ts'

export interface Operation {
  /** Below the cluster's path. */
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  readonly deadlineMs: number
}

/** Asks the manager to do something to a cluster, and prints how it ended or what it would do. */
export async function operate(
  io: Io,
  options: ApiOptions,
  cluster: string | undefined,
  operation: Operation,
): Promise<void> {
  await using place = await findPlace(io, options, cluster)
  const { client, cluster: name, path } = await place.connect(cluster)
  const result = await client.post<OperationResult>(`${path}${operation.path}`, operation.body, operation.deadlineMs)
  if (options.output === 'json') return io.out(toJson(result))
  io.out(result.dryRun ? `dry run: ${result.sentence}` : result.sentence)
  for (const step of result.plan ?? []) io.out(`  ${step}`)
  if (result.recovery !== undefined) io.out(`timeline: ${commandName(io)} recoveries ${name} ${result.recovery}`)
}
