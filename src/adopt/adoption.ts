import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import { complaintAboutHooks, hooksSchema } from '#failover/protocol/hook.ts'
import { acceptLossUpToSchema, clusterSpecSchema } from '#failover/protocol/spec.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say, type Sayable } from '#common/sentence/sentence.ts'
import { complaintAbout } from '#common/input/schema-complaint.ts'
import { refuseNewer } from '#local/files/file-version.ts'
import { readText } from '#local/files/input-file.ts'
import { readYaml } from '#local/files/yaml-file.ts'
import { checkClusterName } from '#local/folder/names.ts'
import { instanceName } from '#topology/snapshot/member.ts'
import { addressText, isSameAddress, mysqlPort, parseHostAddress } from './host-address.ts'

/**
 * What a person says about servers that are there already. The schema is the TypeScript type, and the check of the
 * file that `regent adopt` is given.
 */
const adoptionVersion = 1

/** A tree that is only watched may be larger than a cluster that is managed: nothing rests upon its ordinals. */
export const mostWatched = 100

const path = (description: string) => Type.String({ minLength: 1, maxLength: 4096, description })
const userName = (description: string) => Type.String({ minLength: 1, maxLength: 128, description })
const port = (initial: number, description: string) =>
  Type.Integer({ default: initial, minimum: 1, maximum: 65_535, description })

/** An account of MySQL. The password stands in a file of its own: never in the adoption file, never in an argument. */
const accountFields = {
  user: userName('Name of the account.'),
  passwordFile: path('File whose first line is the password.'),
}

const mysqlSchema = Type.Object(
  {
    ...accountFields,
    caFile: Type.Optional(path('Authority of the servers: connections go over TLS and are verified by it.')),
  },
  { additionalProperties: false, description: 'The account by which Regent looks at a server.' },
)

const replicationSchema = Type.Object(accountFields, {
  additionalProperties: false,
  description: 'The account by which replicas log in at their source.',
})

const sshSchema = Type.Object(
  {
    user: userName('Who logs in at the host: the user that mysqld runs as, or root.'),
    port: port(22, 'Port of sshd.'),
    keyFile: path('Private key, without a passphrase.'),
    knownHostsFile: path('Host keys that are accepted, as ssh keeps them. A key that is not in there is refused.'),
  },
  { additionalProperties: false, description: 'How the host is reached by SSH. Absent: not at all.' },
)

const hostSchema = Type.Object(
  {
    host: Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: '^[A-Za-z0-9._:%-]+$',
      allowed: 'a name or an address, without port and brackets',
      description: 'Name or address.',
    }),
    port: port(mysqlPort, 'Port of mysqld.'),
    alsoKnownAs: Type.Array(Type.String({ minLength: 1, maxLength: 280 }), {
      default: [],
      maxItems: 8,
      description: 'Other addresses, <host>[:<port>], by which replicas know this server as their source.',
    }),
    mysql: Type.Optional(mysqlSchema),
    replication: Type.Optional(replicationSchema),
    ssh: Type.Optional(sshSchema),
    start: Type.Optional(
      Type.String({ minLength: 1, maxLength: 1000, description: 'Command on the host that starts mysqld.' }),
    ),
    dataDir: Type.Optional(path('Data directory of mysqld on the host. Absent: as the server says.')),
    promotion: Type.Enum(['prefer', 'neutral', 'never'], {
      type: 'string',
      default: 'neutral',
      description: 'Whether this server is chosen before others that hold as much, like others, or never as primary.',
    }),
    lagOk: Type.Boolean({
      default: false,
      description: 'Lag is expected here: nobody is told of it, and nothing waits for this server.',
    }),
  },
  { additionalProperties: false },
)

const adoptionSchema = Type.Object(
  {
    version: Type.Literal(adoptionVersion, { default: adoptionVersion, description: 'Version of this format.' }),
    cluster: Type.String({ minLength: 1, maxLength: 39, description: 'Name of the cluster.' }),
    mode: Type.Enum(['async', 'semisync'], {
      type: 'string',
      default: 'async',
      description: 'How the servers replicate.',
    }),
    mysql: Type.Optional(mysqlSchema),
    replication: Type.Optional(replicationSchema),
    ssh: Type.Optional(sshSchema),
    hosts: Type.Array(hostSchema, {
      minItems: 1,
      maxItems: mostWatched,
      allowed: `a list of 1 to ${mostWatched} hosts`,
      description: 'The servers. The first is <cluster>-0, the second <cluster>-1, and so on.',
    }),
    maxLagSeconds: Type.Integer({
      default: 30,
      minimum: 1,
      maximum: 86_400,
      description: 'A replica further behind is reported.',
    }),
    reseed: Type.Enum(['manual', 'automatic'], {
      type: 'string',
      default: 'manual',
      description:
        'Whether a server that cannot follow as it is becomes a copy of another by itself: what it alone has is ' +
        'archived, and its data are replaced. With manual a person asks for that: regent reseed.',
    }),
    failover: Type.Object(
      {
        automatic: Type.Boolean({
          default: true,
          description: 'Fail over without a person, once the cluster is managed.',
        }),
        acceptLoss: Type.Enum(['never', 'upTo', 'always'], {
          type: 'string',
          default: 'never',
          description:
            'Whether a replica may lead without a person while what the lost primary alone holds cannot be had.',
        }),
        acceptLossUpTo: Type.Optional(acceptLossUpToSchema),
        backAfterSeconds: clusterSpecSchema.properties.failover.properties.backAfterSeconds,
        windowMs: Type.Integer({
          default: 28_800_000,
          minimum: 0,
          maximum: 86_400_000,
          description:
            'No second automatic failover within this time after one: eight hours, as MHA has it. Milliseconds.',
        }),
      },
      { additionalProperties: false, default: {} },
    ),
    // They run once the cluster is managed: nothing runs while Regent only watches.
    hooks: Type.Optional(hooksSchema),
  },
  { additionalProperties: false },
)

export type Adoption = Static<typeof adoptionSchema>
export type AdoptedAccount = Static<typeof mysqlSchema>
type AdoptedSsh = Static<typeof sshSchema>

/** A server with everything that is said of it, what is said for all hosts included. */
export interface AdoptedHost extends Omit<Static<typeof hostSchema>, 'mysql' | 'replication' | 'ssh'> {
  /** `shop-0` */
  readonly instance: string
  readonly mysql: AdoptedAccount
  readonly replication: Static<typeof replicationSchema> | undefined
  readonly ssh: AdoptedSsh | undefined
}

/** Throws `REGENT_BAD_FILE` with the path in the file, `REGENT_BAD_NAME` or `REGENT_NEWER_VERSION`. */
export async function readAdoption(file: string): Promise<Adoption> {
  return checkAdoption(`the adoption file ${file}`, await readYaml(file, say`the adoption file`))
}

/** As `readAdoption`, of what was read already; `where` is how a message calls it. */
export function checkAdoption(where: string, value: unknown): Adoption {
  refuseNewer(where, value, adoptionVersion)
  const adoption = Value.Default(adoptionSchema, withHostsInFull(Value.Clone(value)))
  if (!Value.Check(adoptionSchema, adoption))
    throw bad(where, complaintAbout(adoptionSchema, adoption) ?? say`does not have the expected shape`)
  checkClusterName(adoption.cluster)
  const contradiction = whyNoCluster(adoption)
  if (contradiction !== undefined) throw bad(where, contradiction)
  return adoption
}

/** In the order of the file. Names of accounts and keys of one host win over those of all. */
export function hostsOf(adoption: Adoption): readonly AdoptedHost[] {
  return adoption.hosts.map((host, ordinal) => ({
    ...host,
    instance: instanceName(adoption.cluster, ordinal),
    mysql: host.mysql ?? adoption.mysql ?? neverWithout(),
    replication: host.replication ?? adoption.replication,
    ssh: host.ssh ?? adoption.ssh,
  }))
}

/** The first line of a password file. Throws `REGENT_BAD_FILE`. */
export async function readPassword(file: string): Promise<string> {
  return (await readText(file, say`the password file`)).split(/\r?\n/, 1)[0] ?? ''
}

/** A host may be written short: `10.0.0.1:3306`. */
function withHostsInFull(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('hosts' in value) || !Array.isArray(value.hosts)) return value
  const hosts = (value.hosts as unknown[]).map((host) =>
    typeof host === 'string' ? (parseHostAddress(host) ?? host) : host,
  )
  return { ...value, hosts }
}

/** What each field allows for itself and all of them together do not. */
function whyNoCluster({ hosts, mysql, mode, failover, hooks }: Adoption): string | undefined {
  const lacking = hosts.findIndex((host) => host.mysql === undefined)
  if (mysql === undefined && lacking >= 0)
    return `hosts.${lacking} has no account: give mysql there, or at the top level for all`
  const twice = hosts.find((host, at) => hosts.slice(0, at).some((other) => isSameAddress(host, other)))
  if (twice !== undefined)
    return `hosts.${hosts.indexOf(twice)} is ${addressText(twice)} once more: name each server once`
  if (hosts.every(({ promotion }) => promotion === 'never'))
    return 'hosts say promotion: never for each server: none of them could ever be primary; leave one of them out'
  if (mode !== 'async' && failover.acceptLoss !== 'never')
    return `failover.acceptLoss is ${failover.acceptLoss} in mode ${mode}; allowed is never: only in mode async a loss may be accepted ahead of time`
  return failover.acceptLoss === 'upTo' && failover.acceptLossUpTo === undefined
    ? 'failover.acceptLoss is upTo and failover.acceptLossUpTo is missing: say how many seconds and transactions may be lost'
    : complaintAboutHooks(hooks, 'secretFile')
}

function neverWithout(): never {
  throw new Error('an adoption without an account was not refused')
}

function bad(where: Sayable, why: Sayable): RegentError {
  return new RegentError('REGENT_BAD_FILE', say`${where}: ${why}`)
}
