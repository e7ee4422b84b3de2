import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import { nullable } from '#api-contract/views.ts'

const epoch = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER - 1 })

/** The part of a `ClusterView` that a router uses. Managers of other versions may say more. */
const managerWordSchema = Type.Object({
  name: Type.String(),
  epoch,
  primary: nullable(Type.String({ minLength: 1 })),
  instances: Type.Array(
    Type.Object({
      name: Type.String({ pattern: '^[a-z0-9.-]+-\\d+$' }),
      /** The host of the instance's pod; '' for none. */
      host: Type.String({ pattern: '^[\\w.:-]*$' }),
    }),
  ),
})
export type ManagerWord = Static<typeof managerWordSchema>

/**
 * The word of a manager about this cluster, in an event of its stream. A damaged event and an event of another cluster
 * give null.
 */
export function managerWordOf(event: string, cluster: string): ManagerWord | null {
  const said = parsed(event)
  return Value.Check(managerWordSchema, said) && said.name === cluster ? said : null
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
