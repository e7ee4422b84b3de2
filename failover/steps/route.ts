import { instanceOf } from '#topology/snapshot/member.ts'
import type { Situation } from '../judge/situation.ts'
import type { Action } from '../protocol/decision.ts'

/** After a commit the published address is swapped in one write, whatever else is still to converge (safety rule 7). */
export function routeActions({ record, published, snapshot }: Situation): readonly Action[] {
  const instance = instanceOf(record.primary)
  const view = snapshot.instances.find((candidate) => candidate.name === instance)
  if (
    view === undefined ||
    view.host === '' ||
    (published?.epoch === record.epoch &&
      published.instance === instance &&
      published.host === view.host &&
      published.port === view.port)
  )
    return []
  if (published && published.epoch > record.epoch) return []
  return [{ kind: 'route', route: { epoch: record.epoch, instance, host: view.host, port: view.port } }]
}
