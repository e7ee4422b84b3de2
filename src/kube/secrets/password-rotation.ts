import type { PasswordsWish } from '#failover/protocol/order.ts'
import { annotations } from '../names/names.ts'
import { dataOf, passwordGeneration, textIn, type Secret } from './secrets.ts'

/** So long the old passwords are accepted beside the new ones, from when the Secrets show these. */
export const oldPasswordsMs = 3_600_000

/**
 * How far a rotation is, kept in the internal Secret, each step in one write that fails where somebody else wrote in
 * between: whoever leads next goes on from there, and a former leader takes nothing back. What MySQL has is told by
 * MySQL itself.
 */
export interface PasswordRotation {
  /** The value of the resource's annotation that was taken up last; '' for none. */
  readonly asked: string
  /** What the Secrets of people and applications show. */
  readonly generation: string
  /** What is being brought about: first in MySQL, then in those Secrets. */
  readonly next: string | undefined
  /** When the passwords before end, in wall milliseconds; undefined where none are kept. */
  readonly oldUntilMs: number | undefined
}

export function rotationIn(internal: Secret): PasswordRotation {
  const {
    [annotations.rotatePasswords]: asked = '',
    [annotations.nextPasswords]: next,
    [annotations.oldPasswordsUntil]: until,
  } = internal.metadata.annotations ?? {}
  return {
    asked,
    generation: textIn(internal, passwordGeneration) ?? '',
    next,
    oldUntilMs: until === undefined ? undefined : Date.parse(until) || 0,
  }
}

/** The patch that makes this Secret say so. */
export function patchOf(
  { asked, generation, next, oldUntilMs }: PasswordRotation,
  { metadata: { resourceVersion } }: Secret,
): Readonly<Record<string, unknown>> {
  const told = {
    [annotations.rotatePasswords]: asked,
    [annotations.nextPasswords]: next ?? null,
    [annotations.oldPasswordsUntil]: oldUntilMs === undefined ? null : new Date(oldUntilMs).toISOString(),
  }
  return {
    metadata: { resourceVersion, annotations: told },
    ...(generation !== '' && { data: dataOf({ [passwordGeneration]: generation }) }),
  }
}

/** What MySQL should have now. */
export function wishOf({ generation, next, oldUntilMs }: PasswordRotation, wallMs: number): PasswordsWish {
  return {
    generation: next ?? generation,
    old: next === undefined && oldUntilMs !== undefined && wallMs >= oldUntilMs ? 'discarded' : 'kept',
  }
}
