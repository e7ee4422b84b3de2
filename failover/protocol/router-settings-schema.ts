import { Type } from 'typebox'
import { builtOf } from '#common/input/built-shapes.ts'
import { readsFields, routerFields } from './router-settings.ts'

const closed = { additionalProperties: false } as const

/** What a person may say of a router. */
export const routerSettingsSchema = Type.Object(
  {
    ...builtOf(routerFields),
    reads: Type.Optional(Type.Object(builtOf(readsFields), { ...closed, description: 'Which replicas are read.' })),
  },
  closed,
)
