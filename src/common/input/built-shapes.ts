import { Type, type TOptional, type TUnsafe } from 'typebox'
import { isOptional, type Fields, type Optional, type Shape } from './shapes.ts'

/** Shapes as TypeBox's builder has them. */
type Built<F extends Fields> = {
  -readonly [K in keyof F]: F[K] extends Optional<infer T>
    ? TOptional<TUnsafe<T>>
    : F[K] extends Shape<infer T>
      ? TUnsafe<T>
      : never
}

/** For a schema of the builder that has fields which agents and routers check, too. */
export function builtOf<F extends Fields>(fields: F): Built<F> {
  const built = Object.entries(fields).map(([key, field]) => [
    key,
    isOptional(field) ? Type.Optional(Type.Unsafe(field.mayLack)) : Type.Unsafe(field),
  ])
  return Object.fromEntries(built) as Built<F>
}
