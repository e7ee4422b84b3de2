import { Check } from 'typebox/schema'
import type { Shape } from './shapes.ts'

/** Whether a value has this shape. */
export function fits<T>(shape: Shape<T>, value: unknown): value is T {
  return Check(shape, value)
}
