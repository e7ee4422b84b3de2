import { Type, type Static, type TBoolean, type TObject, type TOptional, type TProperties, type TString } from 'typebox'
import { momentNames, type HookMoment } from '#failover/protocol/hook-moments.ts'
import { longestDowntimeMs, shortestDowntimeMs } from '#failover/judge/downtime.ts'

/**
 * What people may ask of a cluster: one entry for each operation. Its name is the last part of its path: an operation
 * is POSTed to `/clusters/<cluster>/<name>`, and answered with an `OperationResult`. What a manager does then:
 * `src/manager/clusters/operations/`.
 */
export interface OperationEntry<Fields extends TProperties> {
  readonly summary: string
  /** Strict: a key that is not understood is refused, never ignored. */
  readonly body: TObject<Fields & { readonly dryRun: Flag }>
  /** Keys of the body by which a person accepts lost writes or an outage. Never so unless said. */
  readonly dangers: readonly string[]
  /** How long who asks waits for the answer. */
  deadlineMs(body: Sent<Fields>): number
}

/** What may be left out, and what it is then. */
type Defaulted<Schema extends TBoolean | TString = TBoolean | TString> = TOptional<Schema> & {
  readonly default: Static<Schema>
}
type Flag = Defaulted<TBoolean>

type Sent<Fields extends TProperties> = Loose<Static<TObject<Fields>>>
/** `undefined` is as good as absent: neither is sent. */
type Loose<T> = { [K in keyof T]: undefined extends T[K] ? T[K] | undefined : T[K] }
type Completed<Fields extends TProperties> = Sent<Fields> & {
  [K in keyof Fields as Fields[K] extends Defaulted ? K : never]: Static<Fields[K]>
}

const flag = (description: string): Flag =>
  Object.assign(Type.Optional(Type.Boolean({ description })), { default: false })

/** A text of one line: it goes into logs and the record. */
const oneLine = '^[^\\u0000-\\u001f\\u007f]*$'
const line = (maxLength: number, description: string): Defaulted<TString> =>
  Object.assign(Type.Optional(Type.String({ maxLength, pattern: oneLine, description })), { default: '' })

const instance = (description: string) => Type.String({ pattern: '^[a-z][a-z0-9-]{0,38}-[0-9]{1,2}$', description })
const newPrimary = Type.Optional(instance('New primary; the best one unless given.'))
const reason = line(200, 'Kept in the recovery, for who reads it later.')

function operation<Fields extends TProperties, Danger extends string = never>({
  summary,
  body,
  dangers,
  deadlineMs,
}: {
  readonly summary: string
  readonly body: Fields
  readonly dangers?: Readonly<Record<Danger, string>>
  readonly deadlineMs: number | ((body: Sent<Fields & Record<Danger, Flag>>) => number)
}): OperationEntry<Fields & Record<Danger, Flag>> {
  const flags = Object.entries<string>(dangers ?? {}).map(([name, description]) => [name, flag(description)] as const)
  const all = {
    ...body,
    ...(Object.fromEntries(flags) as Record<Danger, Flag>),
    dryRun: flag('Change nothing; say what would be done.'),
  }
  return {
    summary,
    body: Type.Object(all, { additionalProperties: false }),
    dangers: flags.map(([name]) => name),
    deadlineMs: typeof deadlineMs === 'number' ? () => deadlineMs : deadlineMs,
  }
}

const table = {
  switchover: operation({
    summary: 'Make another instance primary, planned: no write is lost, the pause is short',
    body: {
      from: Type.Optional(
        instance('Refused unless this is the primary: of several who ask for the same only the first is followed.'),
      ),
      to: newPrimary,
      timeoutMs: Type.Optional(
        Type.Integer({
          minimum: 100,
          maximum: 86_400_000,
          description: 'Past it the switchover is undone. Milliseconds; as in the cluster’s spec unless given.',
        }),
      ),
      reason,
    },
    // The manager keeps to the timeout itself; this only covers a manager that went away.
    deadlineMs: ({ timeoutMs = 60_000 }) => timeoutMs + 30_000,
  }),
  failover: operation({
    summary: 'Make another instance primary although the present one does not answer',
    body: { to: newPrimary },
    dangers: { acceptLoss: 'Fail over although acknowledged writes may be lost.' },
    deadlineMs: 90_000,
  }),
  fence: operation({
    summary: 'Take an instance away from clients until it is unfenced',
    body: { instance: instance('Made read-only and offline until unfenced.') },
    dangers: { keepPrimary: 'A primary is fenced without a switchover first: a deliberate outage.' },
    // A primary may need a switchover first.
    deadlineMs: 90_000,
  }),
  unfence: operation({
    summary: 'Give a fenced instance back to clients',
    body: { instance: instance('Opened again.') },
    deadlineMs: 90_000,
  }),
  pause: operation({
    summary: 'Decide nothing automatically until resumed',
    body: { reason },
    deadlineMs: 15_000,
  }),
  resume: operation({
    summary: 'Decide automatically again',
    body: {},
    deadlineMs: 15_000,
  }),
  downtime: operation({
    summary: 'Expect trouble of an instance for a while: it calls nobody, and another one is preferred as primary',
    body: {
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
      owner: line(100, 'Who says so.'),
    },
    deadlineMs: 15_000,
  }),
  'end-downtime': operation({
    summary: 'End the downtime of an instance before its time',
    body: { instance: instance('Its trouble is unexpected again.') },
    deadlineMs: 15_000,
  }),
  backup: operation({
    summary: 'Make a base backup in the store of the cluster',
    body: {
      instance: Type.Optional(instance('Is copied; the replica that hurts least unless given.')),
      name: Type.Optional(
        Type.String({
          pattern: '^[0-9]{8}T[0-9]{6}Z(-[0-9]{2})?$',
          description:
            'Its name, for who may ask a second time: a backup of one name is begun once. The time of now unless given.',
        }),
      ),
    },
    deadlineMs: 15_000,
  }),
  rehearse: operation({
    summary: 'Restore the newest backup into a throw-away server, and check every table',
    body: { instance: Type.Optional(instance('Rehearses; the replica that hurts least unless given.')) },
    deadlineMs: 15_000,
  }),
  scale: operation({
    summary: 'Change the number of instances',
    body: { instances: Type.Integer({ minimum: 1, maximum: 16, description: 'How many there shall be.' }) },
    deadlineMs: 600_000,
  }),
  replace: operation({
    summary: 'Give up a lost instance with its volume, and have it made anew elsewhere',
    body: { instance: instance('Its volume is given up, and it is made anew with an empty one.') },
    dangers: { acceptLoss: 'Go on although acknowledged writes may be lost.' },
    deadlineMs: 30_000,
  }),
  reseed: operation({
    summary: 'Let an instance that cannot follow as it is become a copy of another',
    body: { instance: instance('What it alone has is archived, and its data are replaced.') },
    deadlineMs: 15_000,
  }),
  restart: operation({
    summary: 'Restart mysqld of an instance in order; a primary hands over first',
    body: { instance: instance('Its mysqld stops in order, and starts again.') },
    // A primary may need a switchover first.
    deadlineMs: 90_000,
  }),
  'test-hooks': operation({
    summary: 'Run the hooks with an example of what they are told, marked as a test',
    body: {
      moment: Type.Optional(
        Type.Unsafe<HookMoment>({
          ...{ type: 'string', enum: [...momentNames] },
          description: 'Only those of this moment; all unless given.',
        }),
      ),
    },
    // The manager keeps to the time of each hook.
    deadlineMs: 3_600_000,
  }),
}

type FieldsOf = {
  readonly [N in keyof typeof table]: (typeof table)[N] extends OperationEntry<infer Fields> ? Fields : never
}

export type OperationName = keyof FieldsOf
/** What is sent, but for `dryRun`: defaults may be left out. */
export type OperationDetails<N extends OperationName> = Sent<FieldsOf[N]>
export type OperationBody<N extends OperationName> = OperationDetails<N> & { readonly dryRun?: boolean | undefined }
/** What is asked for, in full. */
export type OperationRequest<N extends OperationName> = Completed<FieldsOf[N]> & { readonly dryRun: boolean }

export const operations: { readonly [N in OperationName]: OperationEntry<FieldsOf[N]> } = table
export const operationNames = Object.keys(table) as readonly OperationName[]

/** A body that fits the operation’s, with its defaults. */
export function completed<N extends OperationName>(name: N, body: unknown): OperationRequest<N> {
  const said = body as Readonly<Record<string, unknown>>
  const fields = Object.entries<{ readonly default?: unknown }>(operations[name].body.properties)
  return Object.fromEntries(fields.map(([key, field]) => [key, said[key] ?? field.default])) as OperationRequest<N>
}
