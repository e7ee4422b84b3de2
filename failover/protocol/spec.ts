import { Type, type Static } from 'typebox'
import { mostInstances } from '#topology/snapshot/member.ts'
import { defaultArchiveBytes } from './archive-default.ts'
import { backupSettingsSchema } from './backup-settings.ts'
import { restoreSchema } from './backup-store-schema.ts'
import { hooksAt, hooksSchema } from './hook.ts'
import { defaultMode, modes, salvages } from './mode-name.ts'
import { instancePolicySchema } from './instance-policy.ts'

/**
 * What a person may say about a cluster. The schema is the TypeScript type, the check of configuration files, and
 * `docs/reference/configuration.md`.
 */
const milliseconds = (initial: number, description: string, minimum = 0) =>
  Type.Integer({ default: initial, minimum, maximum: 86_400_000, description: `${description} Milliseconds.` })

export const acceptLossUpToSchema = Type.Object(
  {
    seconds: Type.Integer({
      minimum: 0,
      maximum: 86_400,
      description:
        'For so long, at most, writes may have been acknowledged that nobody else received: a lease is part of that time.',
    }),
    transactions: Type.Integer({
      minimum: 0,
      maximum: 1_000_000_000,
      description: 'So many transactions, at most, may be missing of those that the lost primary was heard to hold.',
    }),
  },
  { additionalProperties: false, description: 'What failover.acceptLoss: upTo accepts.' },
)

export const clusterSpecSchema = Type.Object(
  {
    version: Type.Literal(1, { default: 1, description: 'Version of this format.' }),
    mode: Type.Enum([...modes], { type: 'string', default: defaultMode, description: 'How the cluster replicates.' }),
    instances: Type.Integer({ default: 3, minimum: 1, maximum: mostInstances, description: 'Number of instances.' }),
    acks: Type.Union([Type.Integer({ minimum: 0, maximum: 15 }), Type.Null()], {
      default: null,
      description: 'Acknowledgements a write needs; null = half of the instances, rounded down.',
    }),
    durability: Type.Union([Type.Literal('strict'), Type.Literal('available')], {
      default: 'strict',
      description:
        'strict: writes wait when too few replicas can acknowledge. available: acknowledgements are lowered, loudly.',
    }),
    failover: Type.Object(
      {
        automatic: Type.Boolean({ default: true, description: 'Fail over without a person.' }),
        budget: Type.Optional(
          Type.Object(
            {
              failovers: Type.Integer({
                default: 3,
                minimum: 1,
                maximum: 16,
                description:
                  'So many automatic failovers may follow each other; each comes back one window after it was used.',
              }),
              windowMs: milliseconds(
                300_000,
                'After this time one automatic failover that was used comes back.',
                1_000,
              ),
            },
            {
              additionalProperties: false,
              description:
                'How many automatic failovers there may be. Three in five minutes where neither this nor failover.windowMs is given.',
            },
          ),
        ),
        acceptLoss: Type.Optional(
          Type.Enum(['never', 'upTo', 'always'], {
            type: 'string',
            description:
              'In mode async alone: whether a replica may lead without a person while what the lost primary alone ' +
              'holds cannot be had. never, the default: a person decides. upTo: within acceptLossUpTo. always: whatever it is.',
          }),
        ),
        acceptLossUpTo: Type.Optional(acceptLossUpToSchema),
        backAfterSeconds: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: 2_592_000,
            description:
              'An instance that the policies prefer to the primary leads again, by a switchover, once all has been ' +
              'well for so long. 0 = never, the default. Seconds.',
          }),
        ),
        windowMs: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: 86_400_000,
            description:
              'The older word, without effect where failover.budget is given: no second automatic failover ' +
              'within this time after one; 0 = any number of them. Milliseconds.',
          }),
        ),
      },
      { additionalProperties: false, default: {} },
    ),
    reseed: Type.Union([Type.Literal('automatic'), Type.Literal('manual')], {
      default: 'automatic',
      description: 'Whether an instance with errant transactions is archived and seeded again without a person.',
    }),
    cloneAboveTransactions: Type.Integer({
      default: 1000,
      minimum: 0,
      maximum: 1_000_000_000,
      description:
        'An empty instance is seeded by CLONE when it lacks more transactions than this, otherwise from the binlogs.',
    }),
    maxLagSeconds: Type.Integer({
      default: 30,
      minimum: 1,
      maximum: 86_400,
      description: 'A replica further behind is reported, and refused as switchover candidate.',
    }),
    lowSpaceBytes: Type.Integer({
      default: 67_108_864,
      minimum: 0,
      maximum: 1_099_511_627_776,
      description:
        'With less free space on its data volume a primary stops taking writes before the server hangs; it opens again at twice as much.',
    }),
    keepBinlogsSeconds: Type.Integer({
      default: 259_200,
      minimum: 1,
      maximum: 31_536_000,
      description:
        'A binlog is purged this long after its last write, once every instance has what is in it. Three days.',
    }),
    heldBinlogsBytes: Type.Integer({
      default: 21_474_836_480,
      minimum: 0,
      maximum: 1_125_899_906_842_624,
      description:
        'Binlogs older than that are held for an instance that lacks them until all binlogs of a server ' +
        'take more than this; then the oldest are purged and the instance is seeded again. 20 GiB.',
    }),
    archiveBytes: Type.Integer({
      default: defaultArchiveBytes,
      minimum: 0,
      maximum: 1_125_899_906_842_624,
      description:
        'Archives of an instance (tails that were cut off, errant transactions) are removed, the oldest ' +
        'first, once all of them take more than this; never what was archived last. 4 GiB.',
    }),
    group: Type.Object(
      {
        consistency: Type.Enum(['EVENTUAL', 'BEFORE_ON_PRIMARY_FAILOVER', 'BEFORE', 'AFTER', 'BEFORE_AND_AFTER'], {
          type: 'string',
          default: 'BEFORE_ON_PRIMARY_FAILOVER',
          description:
            'group_replication_consistency. With the default nobody reads from, or writes to, a new primary ' +
            'before what the old one acknowledged is applied there.',
        }),
      },
      { additionalProperties: false, default: {}, description: 'In mode group alone.' },
    ),
    switchover: Type.Object(
      {
        graceMs: milliseconds(1_000, 'Time running statements and idle transactions get before they are killed.'),
        timeoutMs: milliseconds(10_000, 'Past it a switchover is undone.', 100),
      },
      { additionalProperties: false, default: {} },
    ),
    hooks: Type.Optional(hooksSchema),
    backup: Type.Optional(backupSettingsSchema),
    restore: Type.Optional(restoreSchema),
    policies: Type.Record(Type.String({ pattern: '^[a-z][a-z0-9-]{0,38}-[0-9]{1,2}$' }), instancePolicySchema, {
      default: {},
      description: 'Per instance, by name.',
    }),
  },
  { additionalProperties: false },
)

export type ClusterSpec = Static<typeof clusterSpecSchema>

/** k for this many instances: as asked, else ⌊N/2⌋, never more than there are replicas; in mode async always 0. */
export function acksFor(spec: ClusterSpec, instances: number): number {
  return salvages(spec) ? 0 : Math.min(spec.acks ?? Math.floor(instances / 2), instances - 1)
}

/**
 * Whether replicas acknowledge, so that `acks` and `durability` say something. In mode group a majority of the group
 * acknowledges, whatever they say; in mode async nobody does.
 */
export function countsAcks({ mode }: Pick<ClusterSpec, 'mode'>): boolean {
  return mode === 'semisync'
}

/** What a spec says that its mode does not allow, or what it leaves out; undefined where nothing is wrong. */
export function whyNotInMode(spec: Pick<ClusterSpec, 'mode' | 'acks' | 'failover' | 'hooks'>): string | undefined {
  return whyNoAcks(spec) ?? whyNoLoss(spec) ?? whyNoStop(spec)
}

function whyNoAcks({ mode, acks }: Pick<ClusterSpec, 'mode' | 'acks'>): string | undefined {
  return mode === 'async' && acks !== null && acks > 0
    ? `acks is ${acks} in mode async; allowed is 0, or nothing: no write waits for an acknowledgement there; use mode semisync`
    : undefined
}

function whyNoLoss({ mode, failover }: Pick<ClusterSpec, 'mode' | 'failover'>): string | undefined {
  const { acceptLoss = 'never', acceptLossUpTo } = failover
  if (mode !== 'async' && acceptLoss !== 'never')
    return `failover.acceptLoss is ${acceptLoss} in mode ${mode}; allowed is never: only in mode async a loss may be accepted ahead of time`
  return acceptLoss === 'upTo' && acceptLossUpTo === undefined
    ? 'failover.acceptLoss is upTo and failover.acceptLossUpTo is missing: say how many seconds and transactions may be lost'
    : undefined
}

function whyNoStop({ mode, hooks }: Pick<ClusterSpec, 'mode' | 'hooks'>): string | undefined {
  const at = hooksAt(hooks, 'beforeFailover').findIndex(({ onFailure }) => onFailure === 'stop')
  return mode === 'group' && at >= 0
    ? `hooks.beforeFailover.${at}.onFailure is "stop" in mode group; allowed is continue: a group elects its primary by itself`
    : undefined
}

/**
 * What an even number of instances costs in this mode; undefined where it costs nothing. With `2n` members a majority
 * is one more than with `2n - 1`, and as few may be lost.
 */
export function costOfSize({ mode }: Pick<ClusterSpec, 'mode'>, instances: number): string | undefined {
  if (mode !== 'group' || instances % 2 === 1) return undefined
  return instances === 2
    ? 'when one of 2 members is lost the other is no majority, and writes wait for a person or for that member: use 3'
    : `${instances} members outlive the loss of ${instances / 2 - 1} at once, no more than ` +
        `${instances - 1} do, and each write waits for one more of them: use ${instances - 1} or ` +
        `${instances + 1}`
}

/** A group takes no more (manual, "Group Replication Limitations"). */
const mostMembers = 9

/** Why there cannot be so many instances in this mode; undefined where there can. */
export function whyTooMany({ mode }: Pick<ClusterSpec, 'mode'>, instances: number): string | undefined {
  return mode === 'group' && instances > mostMembers
    ? `${instances} instances in mode group; allowed is 1 to ${mostMembers}: a MySQL replication group takes no more members`
    : undefined
}
