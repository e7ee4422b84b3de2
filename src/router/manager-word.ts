import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import { nullable } from '#api-contract/views.ts'

const epoch = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER - 1 })

/** What a router takes of a `ClusterView`; managers of other versions may say more, and other things beside. */
const managerWordSchema = Type.Object({
  name: Type.String(),
  epoch,
  primary: nullable(Type.String({ minLength: 1 })),
  instances: Type.Array(
    Type.Object({
      name: Type.String({ pattern: '^[a-z0-9.-]+-\\d+$' }),
      /** Of its pod; '' for none. */
      host: Type.String({ pattern: '^[\\w.:-]*$' }),
    }),
  ),
})
export type ManagerWord = Static<typeof managerWordSchema>

/** What an event of a manager's stream says of that cluster; null for a damaged event, and for another cluster's. */
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
