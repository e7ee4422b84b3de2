import { Type, type Static, type TProperties } from 'typebox'
import { longestDowntimeMs, shortestDowntimeMs } from '#failover/judge/downtime.ts'

/** Bodies of the operations. All are strict: a key that is not understood is refused, never ignored. */
const strict = <Properties extends TProperties>(properties: Properties) =>
  Type.Object(properties, { additionalProperties: false })

const instance = (description: string) => Type.String({ pattern: '^[a-z][a-z0-9-]{0,38}-[0-9]{1,2}$', description })

const dryRun = Type.Optional(Type.Boolean({ default: false, description: 'Change nothing; say what would be done.' }))

/** One line: it goes into logs and the record. */
const oneLine = '^[^\\u0000-\\u001f\\u007f]*$'
const reason = Type.Optional(
  Type.String({
    maxLength: 200,
    pattern: oneLine,
    default: '',
    description: 'Kept in the recovery, for who reads it later.',
  }),
)

export const switchoverBody = strict({
  from: Type.Optional(
    instance('Refused unless this is the primary: of several who ask for the same only the first is followed.'),
  ),
  to: Type.Optional(instance('New primary; the best one unless given.')),
  timeoutMs: Type.Optional(
    Type.Integer({
      minimum: 100,
      maximum: 86_400_000,
      description: 'Past it the switchover is undone. Milliseconds; as in the cluster’s spec unless given.',
    }),
  ),
  reason,
  dryRun,
})

export const failoverBody = strict({
  to: Type.Optional(instance('New primary; the best one unless given.')),
  acceptLoss: Type.Optional(
    Type.Boolean({ default: false, description: 'Fail over although acknowledged writes may be lost.' }),
  ),
  dryRun,
})

export const fenceBody = strict({
  instance: instance('Made read-only and offline until unfenced.'),
  keepPrimary: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'A primary is fenced without a switchover first: a deliberate outage.',
    }),
  ),
  dryRun,
})

export const unfenceBody = strict({ instance: instance('Opened again.'), dryRun })

export const pauseBody = strict({ reason, dryRun })

export const resumeBody = strict({ dryRun })

export const downtimeBody = strict({
  instance: instance('Its trouble is known and expected.'),
  forMs: Type.Integer({
    minimum: shortestDowntimeMs,
    maximum: longestDowntimeMs,
    description: 'For so long from now; it ends by itself. Milliseconds.',
  }),
  reason: Type.String({
    minLength: 1,
    maxLength: 200,
    pattern: oneLine,
    description: 'Shown with everything that is expected.',
  }),
  owner: Type.Optional(Type.String({ maxLength: 100, pattern: oneLine, default: '', description: 'Who says so.' })),
  dryRun,
})

export const endDowntimeBody = strict({ instance: instance('Its trouble is unexpected again.'), dryRun })

export const scaleBody = strict({
  instances: Type.Integer({ minimum: 1, maximum: 16, description: 'How many there shall be.' }),
  dryRun,
})

export const replaceBody = strict({
  instance: instance('Its volume is given up, and it is made anew with an empty one.'),
  acceptLoss: Type.Optional(
    Type.Boolean({ default: false, description: 'Go on although acknowledged writes may be lost.' }),
  ),
  dryRun,
})

/** Path parameters. */
export const clusterParams = Type.Object({
  cluster: Type.String({
    pattern: '^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?[.])?[a-z][a-z0-9-]{0,38}$',
    description: 'Name of the cluster; on Kubernetes <namespace>.<name>, or the name alone where it is unique.',
  }),
})

export const recoveryParams = Type.Object({
  ...clusterParams.properties,
  id: Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$', description: 'Id of the recovery.' }),
})

export type ClusterParams = Static<typeof clusterParams>
export type RecoveryParams = Static<typeof recoveryParams>
