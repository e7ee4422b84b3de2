import type { Command } from 'commander'
import { instanceReference } from '../terminal/arguments.ts'
import { withApi, withDryRun, type DryRunOptions } from '../terminal/common-options.ts'
import type { Io } from '../terminal/io.ts'

/** Fencing a primary may need a switchover first. */
const deadlineMs = 90_000

export function addFence(program: Command, io: Io): void {
  const fence = program
    .command('fence')
    .description(
      'Force an instance read-only and end its sessions until it is unfenced. A primary is switched over first.',
    )
    .argument('<instance>', 'the instance; <namespace>/<name> on Kubernetes', instanceReference)
    .option(
      '--keep-primary',
      'fence the primary where it is: a deliberate outage, and nothing fails over until unfence',
    )
  withApi(withDryRun(fence)).action((instance: string, options: DryRunOptions & { readonly keepPrimary?: true }) =>
    about(io, options, instance, {
      path: '/fence',
      body: { keepPrimary: options.keepPrimary, dryRun: options.dryRun },
    }),
  )
  const unfence = program
    .command('unfence')
    .description('Take a fence away.')
    .argument('<instance>', 'the instance; <namespace>/<name> on Kubernetes', instanceReference)
  withApi(withDryRun(unfence)).action((instance: string, options: DryRunOptions) =>
    about(io, options, instance, { path: '/unfence', body: { dryRun: options.dryRun } }),
  )
}

async function about(
  io: Io,
  options: DryRunOptions,
  instance: string,
  operation: { path: string; body: Readonly<Record<string, unknown>> },
): Promise<void> {
  const { operate } = await import('./operate.ts')
  const body = { instance: instance.replace(/^.*\//, ''), ...operation.body }
  await operate(io, options, instance.replace(/-\d{1,2}$/, ''), { ...operation, body, deadlineMs })
}
