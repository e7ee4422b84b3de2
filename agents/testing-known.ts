import type { Sentence } from '#common/sentence/sentence.ts'
import { lifeOf, type Life } from './instance/life.ts'
import type { Parts } from './instance/parts.ts'

type Writable<T> =
  T extends ReadonlyMap<infer K, infer V>
    ? Map<K, V>
    : T extends Sentence
      ? T
      : T extends object
        ? { -readonly [K in keyof T]: Writable<T[K]> }
        : T

/** What is known, or a part of that: a test sets its scene without the facts that would lead to it. */
export function settable<T extends object>(known: T): Writable<T> {
  return known as Writable<T>
}

/** What its agent remembers of the mysqld that runs. */
export function changeLife(parts: Parts, change: Partial<Life>): void {
  Object.assign(parts.course, { life: { ...lifeOf(parts), ...change } })
}
