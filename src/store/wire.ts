import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { momentNames } from '#failover/protocol/hook-moments.ts'
import { notesVersion, recoveriesKept, type ClusterNotes, type Recovery } from '#failover/protocol/notes.ts'
import { recordVersion, type ClusterRecord, type Intent, recordedMembers } from '#failover/protocol/record.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import type { MemberId } from '#topology/snapshot/member.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say, type Sayable, type Sentence } from '#common/sentence/sentence.ts'
import { checkShape, excerpt, parseVersioned } from './shape.ts'

/**
 * The two objects of a cluster as they are stored: strict JSON. What is read decides which server may take writes, so
 * whatever is not exactly as expected is refused, never guessed at.
 */

const strict = { additionalProperties: false } as const
/** Clusters that are only watched may have more instances than others. */
const mostNamed = 100
const instanceNamePattern = '^[a-z][a-z0-9-]{0,38}-[0-9]{1,2}$'
const memberPattern = '^[a-z][a-z0-9-]{0,38}-[0-9]{1,2}@[^@\\s]{1,200}$'

const member = Type.Unsafe<MemberId>(Type.String({ pattern: memberPattern }))
const members = Type.Array(member)
const count = (minimum: number) => Type.Integer({ minimum, maximum: Number.MAX_SAFE_INTEGER })
const name = Type.String({ minLength: 1 })
const wallMs = Type.Number({ minimum: 0 })
const orNull = <Schema extends Type.TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])

/** Apart from the record, so that an error speaks of the kind of intent that is there. */
const fetchIntentShape = Compile(Type.Object({ kind: Type.Literal('fetch'), by: name, candidate: member }, strict))
const switchoverIntentShape = Compile(
  Type.Object(
    {
      kind: Type.Literal('switchover'),
      by: name,
      candidate: member,
      request: name,
      deadlineWallMs: wallMs,
      reason: Type.String(),
      gathering: Type.Optional(Type.Object({ members, untilWallMs: wallMs }, strict)),
    },
    strict,
  ),
)

const recordShape = Compile(
  Type.Object(
    {
      version: count(1),
      cluster: Type.String({ pattern: '^[a-z][a-z0-9-]{0,38}$' }),
      epoch: count(1),
      revision: count(1),
      primary: member,
      syncSet: members,
      leaving: members,
      acks: count(0),
      acksWanted: count(0),
      intent: orNull(Type.Object({ kind: Type.Enum(['fetch', 'switchover']) })),
      elected: Type.Optional(Type.String()),
      doubted: Type.Optional(Type.Object({ since: count(1), members }, strict)),
      group: Type.Optional(
        Type.Object(
          {
            name: Type.String({ pattern: '^[0-9a-f-]{36}$' }),
            forming: Type.Boolean(),
            view: Type.Optional(Type.String({ pattern: '^\\d+:\\d+$' })),
            parted: Type.Optional(Type.Literal(true)),
          },
          strict,
        ),
      ),
    },
    strict,
  ),
)

const hookRunShape = Type.Object(
  {
    moment: Type.Enum([...momentNames]),
    index: count(0),
    hook: Type.String(),
    state: Type.Enum(['due', 'running', 'succeeded', 'failed', 'unknown', 'skipped']),
    by: Type.String(),
    beganWallMs: orNull(wallMs),
    ms: orNull(Type.Number()),
    said: Type.String(),
    stops: Type.Optional(Type.Literal(true)),
  },
  strict,
)

const recoveryShape = Type.Object(
  {
    id: name,
    kind: Type.Enum(['bootstrap', 'failover', 'switchover', 'restart', 'repair']),
    startedWallMs: wallMs,
    analysis: Type.String(),
    sentence: Type.String(),
    from: orNull(member),
    to: orNull(member),
    fromEpoch: count(0),
    toEpoch: orNull(count(1)),
    outcome: Type.Enum(['running', 'succeeded', 'undone', 'abandoned']),
    timeline: Type.Array(Type.Object({ atMs: Type.Number(), what: Type.String() }, strict)),
    loss: Type.Optional(Type.Object({ transactions: orNull(count(0)), unheardSeconds: orNull(count(0)) }, strict)),
    hooks: Type.Optional(Type.Object({ failureType: Type.String(), runs: Type.Array(hookRunShape) }, strict)),
  },
  strict,
)

const pauseShape = Type.Object(
  { reason: Type.String(), wallMs, by: Type.Optional(Type.Enum(['person', 'resource'])) },
  strict,
)

/** The last moment of the calendar of JavaScript: what is later cannot be shown. */
const lastMoment = 8.64e15

const downtimeShape = Type.Object(
  {
    instance: Type.String({ pattern: instanceNamePattern }),
    untilWallMs: Type.Number({ minimum: 0, maximum: lastMoment }),
    reason: Type.String({ maxLength: 200 }),
    owner: Type.String({ maxLength: 100 }),
  },
  strict,
)

const reseedConsentShape = Type.Object(
  { instance: Type.String({ pattern: instanceNamePattern }), untilWallMs: wallMs },
  strict,
)

const short = (maxLength: number) => Type.String({ maxLength })
const instanceKey = Type.String({ pattern: instanceNamePattern })

const annotationsShape = Type.Object(
  {
    alias: Type.Optional(short(200)),
    tags: Type.Optional(Type.Record(instanceKey, Type.Record(Type.String(), short(200)), strict)),
    pools: Type.Optional(Type.Record(Type.String(), Type.Array(instanceKey))),
    acknowledged: Type.Optional(
      Type.Record(Type.String(), Type.Object({ wallMs, by: short(100), comment: short(200) }, strict)),
    ),
    hidden: Type.Optional(Type.Array(instanceKey, { maxItems: mostNamed })),
    promotions: Type.Optional(
      Type.Record(
        instanceKey,
        Type.Object(
          {
            promotion: Type.Enum(['prefer', 'neutral', 'never']),
            priority: Type.Integer({ minimum: -1000, maximum: 1000 }),
            untilWallMs: Type.Number({ minimum: 0, maximum: lastMoment }),
          },
          strict,
        ),
        strict,
      ),
    ),
    maintenances: Type.Optional(
      Type.Record(
        instanceKey,
        Type.Object(
          {
            id: Type.Integer({ minimum: 0 }),
            owner: short(100),
            reason: short(200),
            beganWallMs: wallMs,
            untilWallMs: Type.Number({ minimum: 0, maximum: lastMoment }),
          },
          strict,
        ),
        strict,
      ),
    ),
  },
  strict,
)

const notesShape = Compile(
  Type.Object(
    {
      version: count(1),
      paused: orNull(pauseShape),
      fenced: Type.Array(
        Type.Object(
          { instance: Type.String({ pattern: instanceNamePattern }), keepPrimary: Type.Boolean(), wallMs },
          strict,
        ),
      ),
      instances: orNull(Type.Integer({ minimum: 1, maximum: 16 })),
      lastFailoverWallMs: orNull(wallMs),
      automaticFailovers: Type.Optional(Type.Array(wallMs, { maxItems: 32 })),
      incarnations: Type.Record(Type.String({ pattern: memberPattern }), Type.Array(name), strict),
      unsettled: Type.Optional(
        Type.Array(Type.Object({ member, epoch: count(1), agentRun: name, sequence: count(0) }, strict)),
      ),
      downtimes: Type.Optional(Type.Array(downtimeShape, { maxItems: mostNamed })),
      reseedConsents: Type.Optional(Type.Array(reseedConsentShape, { maxItems: mostNamed })),
      annotations: Type.Optional(annotationsShape),
      recoveries: Type.Array(recoveryShape, { maxItems: recoveriesKept }),
    },
    strict,
  ),
)

const recoveriesShape = Compile(
  Type.Object({ version: count(1), recoveries: Type.Array(recoveryShape, { maxItems: recoveriesKept }) }, strict),
)

/** Reads stored recoveries; errors as those of `parseRecord`. */
export function parseRecoveries(text: string, where: Sayable): readonly Recovery[] {
  return checkShape(recoveriesShape, parseVersioned(text, notesVersion, where), where).recoveries
}

/** The recoveries as they are stored; errors as those of `printRecord`. */
export function printRecoveries(recoveries: readonly Recovery[], where: Sayable): string {
  const text = JSON.stringify({ version: notesVersion, recoveries })
  parseRecoveries(text, where)
  return text
}

/**
 * Reads a stored record.
 * @param where names the place in errors
 * @throws RegentError `REGENT_NEWER_VERSION`, or `REGENT_BAD_FILE` naming the first field that is wrong and its value
 */
export function parseRecord(text: string, where: Sayable): ClusterRecord {
  const shaped = checkShape(recordShape, parseVersioned(text, recordVersion, where), where)
  const record: ClusterRecord = {
    ...shaped,
    intent: shaped.intent && checkIntent(shaped.intent, say`${where}: intent`),
  }
  const problem = contradictionIn(record)
  if (problem !== undefined) throw new RegentError('REGENT_BAD_FILE', say`${where}: ${problem}`)
  return record
}

/**
 * The record as it is stored, in the newest version. A record that could not be read back is never written.
 * @throws RegentError `REGENT_BAD_FILE`
 */
export function printRecord(record: ClusterRecord, where: Sayable): string {
  const text = JSON.stringify({ ...record, version: recordVersion })
  parseRecord(text, where)
  return text
}

/** Reads stored notes; errors as those of `parseRecord`. */
export function parseNotes(text: string, where: Sayable): ClusterNotes {
  return checkShape(notesShape, parseVersioned(text, notesVersion, where), where)
}

/** The notes as they are stored; errors as those of `printRecord`. */
export function printNotes(notes: ClusterNotes, where: Sayable): string {
  const text = JSON.stringify({ ...notes, version: notesVersion })
  parseNotes(text, where)
  return text
}

function checkIntent(intent: { readonly kind: Intent['kind'] }, where: Sayable): Intent {
  return intent.kind === 'fetch'
    ? checkShape(fetchIntentShape, intent, where)
    : checkShape(switchoverIntentShape, intent, where)
}

/**
 * What must hold between the fields of every record (docs/why/safety.md, "The invariant"), as a sentence where it does
 * not.
 */
function contradictionIn(record: ClusterRecord): Sentence | undefined {
  const stranger = recordedMembers(record).find((one) => one.replace(/-[0-9]+@.*$/, '') !== record.cluster)
  if (stranger !== undefined) return say`${excerpt(stranger)} is not a member of the cluster ${record.cluster}`
  const twice = firstTwice(record.syncSet) ?? firstTwice(record.leaving)
  if (twice !== undefined) return say`${excerpt(twice)} is in syncSet or leaving twice`
  if (record.syncSet.includes(record.primary)) return say`the primary ${excerpt(record.primary)} is in its own syncSet`
  const leaver = record.leaving.find((one) => !record.syncSet.includes(one))
  if (leaver !== undefined) return say`leaving has ${excerpt(leaver)}, which is not in syncSet`
  if (record.acksWanted < record.acks)
    return say`acksWanted is ${record.acksWanted}; it must not be less than acks, ${record.acks}`
  return isGtidSet(record.elected ?? '') ? undefined : say`elected is ${excerpt(record.elected)}; it must be a GTID set`
}

function isGtidSet(text: string): boolean {
  try {
    parseGtidSet(text)
    return true
  } catch {
    return false
  }
}

function firstTwice(members: readonly MemberId[]): MemberId | undefined {
  return members.find((member, index) => members.indexOf(member) !== index)
}
