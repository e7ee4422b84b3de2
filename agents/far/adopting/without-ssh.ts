import type { Hindrance } from './lacks.ts'

/** What is said of the hosts and of the cluster that they are in. */
interface Said {
  readonly hosts: readonly { readonly instance: string; readonly ssh: unknown; readonly start?: string | undefined }[]
  readonly mode: string
  readonly acceptLoss: 'never' | 'upTo' | 'always'
}

const remedy = ['-- ssh: { user: mysql, keyFile: …, knownHostsFile: … }']

/**
 * Where writes wait for acknowledgements, whoever ends must be ended for sure: nobody can do so by SQL alone. Pure.
 */
export function refusedWithoutSsh({ hosts, mode }: Said): readonly Hindrance[] {
  if (mode === 'async') return []
  return hosts
    .filter(({ ssh }) => ssh === undefined)
    .map(({ instance }) => ({
      instance,
      what: `the hosts file gives no SSH for it, which mode ${mode} needs; in mode async SQL alone will do`,
      remedy,
    }))
}

/** What it means for these servers that only SQL reaches some of them: a line each. Pure. */
export function whatNoSshMeans({ hosts, acceptLoss }: Said): readonly string[] {
  const without = hosts.filter(({ ssh }) => ssh === undefined)
  if (without.length === 0) return []
  const commands = without.filter(({ start }) => start !== undefined).map(({ instance }) => instance)
  return [
    `without SSH: ${listOf(without)}`,
    ...[
      'as primary, dead is only what its replicas lost as well; what only its binlogs have is lost at its death',
      leading[acceptLoss],
      'nobody starts or kills mysqld there; a primary that was cut off is closed by SQL once it answers',
      ...(commands.length === 0 ? [] : [`start commands are never run: ${commands.join(', ')}`]),
    ].map((line) => `  ${line}`),
  ]
}

const leading = {
  never: 'after its death nobody leads before a person says so: failover.acceptLoss is never',
  upTo: 'after its death another one leads by itself where no more is lost than failover.acceptLossUpTo allows',
  always: 'after its death another one leads by itself, whatever is lost: failover.acceptLoss is always',
} as const

function listOf(hosts: Said['hosts']): string {
  return hosts.map(({ instance }) => instance).join(', ')
}
