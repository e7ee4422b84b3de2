import { hostsOf, type Adoption } from '../adoption.ts'

/** What it means for these servers, once they are managed, that only SQL reaches some of them: a line each. Pure. */
export function whatNoSshMeans(adoption: Adoption): readonly string[] {
  const without = hostsOf(adoption).filter(({ ssh }) => ssh === undefined)
  // Elsewhere SSH is missing: a requirement.
  if (without.length === 0 || adoption.mode !== 'async') return []
  const commands = without.filter(({ start }) => start !== undefined)
  return [
    `without SSH: ${namesOf(without)}`,
    ...[
      'as primary, dead is only what its replicas lost as well; what only its binlogs have is lost at its death',
      leading[adoption.failover.acceptLoss],
      'nobody starts or kills mysqld there; a primary that was cut off is closed by SQL once it answers',
      ...(commands.length === 0 ? [] : [`start commands are never run: ${namesOf(commands)}`]),
    ].map((line) => `  ${line}`),
  ]
}

const leading = {
  never: 'after its death nobody leads before a person says so: failover.acceptLoss is never',
  upTo: 'after its death another one leads by itself where no more is lost than failover.acceptLossUpTo allows',
  always: 'after its death another one leads by itself, whatever is lost: failover.acceptLoss is always',
} as const

function namesOf(hosts: readonly { readonly instance: string }[]): string {
  return hosts.map(({ instance }) => instance).join(', ')
}
