/** What a Redis says about itself: CONFIG GET, INFO, and how many listen to the Sentinels' channel. */
export interface RedisFacts {
  readonly config: Readonly<Record<string, string | undefined>>
  readonly info: Readonly<Record<string, string | undefined>>
  readonly sentinels: number
}

interface Setting {
  readonly name: string
  readonly wanted: string
  readonly why: string
}

/** The settings without which Redis may lose, at a crash, what it has confirmed. */
export const settings: readonly Setting[] = [
  { name: 'appendonly', wanted: 'yes', why: 'a restart would lose the records' },
  { name: 'appendfsync', wanted: 'always', why: 'a write would be confirmed before it is on disk' },
  {
    name: 'no-appendfsync-on-rewrite',
    wanted: 'no',
    why: 'while the log is rewritten, writes would be confirmed before they are on disk',
  },
  { name: 'maxmemory-policy', wanted: 'noeviction', why: 'records could be evicted' },
]

/**
 * Every way in which this Redis could lose what it confirmed or be replaced by one that lags, a sentence each with what
 * to change; empty for a safe one.
 */
export function dangersIn(facts: RedisFacts): readonly string[] {
  return [...dangerousSettings(facts.config), ...possibleSuccessors(facts)]
}

function dangerousSettings(config: RedisFacts['config']): readonly string[] {
  return settings
    .filter(({ name, wanted }) => config[name] !== wanted)
    .map(({ name, wanted, why }) => {
      const value = config[name] === undefined ? 'unknown' : `"${config[name]}"`
      return `${name} is ${value}, so ${why}: CONFIG SET ${name} ${wanted}, and "${name} ${wanted}" in redis.conf`
    })
}

/** Other servers that are, or could become, what clients take for this Redis, without all of its writes. */
function possibleSuccessors({ info, sentinels }: RedisFacts): readonly string[] {
  const replicas = Number(info['connected_slaves'] ?? 0)
  const found: readonly (readonly [boolean, string])[] = [
    [
      info['role'] !== 'master',
      `it is a replica of ${info['master_host']}:${info['master_port']} and may lack what that ` +
        'confirmed: give the address of a Redis of its own, or REPLICAOF NO ONE and no "replicaof" in ' +
        'redis.conf',
    ],
    [
      replicas > 0,
      `${replicas} ${replicas === 1 ? 'replica is' : 'replicas are'} connected, and one that lags ` +
        'could take over: REPLICAOF NO ONE on each and no "replicaof" in their redis.conf',
    ],
    [
      sentinels > 0,
      'a Sentinel watches it and could make another Redis its successor: SENTINEL REMOVE <name> on each Sentinel',
    ],
    [
      info['cluster_enabled'] === '1',
      'it is a node of a Redis Cluster, whose replicas lag and can take over: "cluster-enabled no" in redis.conf and a restart',
    ],
  ]
  return found.filter(([holds]) => holds).map(([, sentence]) => sentence)
}

/** The lines `name:value` of an INFO answer. */
export function parseInfo(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    text
      .split(/\r?\n/)
      .filter((line) => /^[^#].*:/.test(line))
      .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
  )
}

/**
 * A rewrite of the log, perhaps the first after `appendonly` was switched on: until it ends, nothing is certain to
 * survive.
 */
export function rewriteRunning(info: RedisFacts['info']): boolean {
  return info['aof_rewrite_in_progress'] === '1' || info['aof_rewrite_scheduled'] === '1'
}
