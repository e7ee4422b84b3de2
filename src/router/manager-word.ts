import { anyText, integer, listOf, matching, objectWith, orNull, text, type Shaped } from '#common/input/shapes.ts'
import { fits } from '#common/input/fits.ts'

/** The part of a `ClusterView` that a router uses. Managers of other versions may say more. */
const managerWord = objectWith({
  name: anyText,
  epoch: integer(0, Number.MAX_SAFE_INTEGER - 1),
  primary: orNull(text(1, 1_024)),
  instances: listOf(
    objectWith({
      name: matching('^[a-z0-9.-]+-\\d+$'),
      /** The host of the instance's pod; '' for none. */
      host: matching('^[\\w.:-]*$'),
    }),
    1_024,
  ),
})
export type ManagerWord = Shaped<typeof managerWord>

/**
 * The word of a manager about this cluster, in an event of its stream. A damaged event and an event of another cluster
 * give null.
 */
export function managerWordOf(event: string, cluster: string): ManagerWord | null {
  const said = parsed(event)
  return fits(managerWord, said) && said.name === cluster ? said : null
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
