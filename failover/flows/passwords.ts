import { say, text, type Said } from '#common/sentence/sentence.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import type { ServerState } from '#topology/snapshot/observation.ts'
import { orderFor } from '../steps/assignments.ts'
import type { Action } from '../protocol/decision.ts'
import type { PasswordsWish } from '../protocol/order.ts'
import { isFollowing, isWritable, liveView, type DecisionInput, type Situation } from '../judge/situation.ts'

/**
 * The order that is due to the primary where other passwords are asked for. What it changes replicates, so nobody else
 * is told; and it is only told while it takes writes.
 */
export function passwordsOrders(situation: Situation): readonly Action[] {
  const { record, requests, notes } = situation
  const wish = requests.find((request) => request.kind === 'passwords')
  if (wish === undefined || notes.paused !== null || record.intent !== null || !isWritable(situation)) return []
  const primary = liveView(situation.snapshot, record.primary)
  const server = primary?.observation.server
  if (!primary || !server?.passwords || isAsWished(server, wish)) return []
  const { generation, old } = wish
  return [
    {
      kind: 'passwords',
      to: primary.name,
      order: { ...orderFor(situation, record.primary, record.epoch), generation, old },
    },
  ]
}

/**
 * Why the passwords are not as wished yet; '' once they are at the primary, and new ones at every replica that follows
 * it too: a client that reads the passwords next may log in there. A replica that is away has them when it has caught
 * up.
 */
export function whyNotAsWished(input: DecisionInput, wish: PasswordsWish): Said {
  const { record, snapshot, notes } = input
  if (notes.paused !== null) return say`the cluster is paused: ${text(notes.paused.reason)}`
  if (record === undefined || !isWritable(input)) return say`the cluster takes no writes now`
  const primary = instanceOf(record.primary)
  const asked = snapshot.instances.filter(
    (view) => view.name === primary || (wish.old === 'kept' && isFollowing(view, { ...input, record })),
  )
  const older = asked.find(({ observation }) => observation?.server?.passwords === undefined)
  if (older !== undefined)
    return say`the agent of ${older.name} is older than this and cannot do it: it must start again`
  const late = asked.find(({ observation }) => observation?.server && !isAsWished(observation.server, wish))
  if (late === undefined) return ''
  return late.name === primary
    ? say`primary ${primary} has not changed them yet`
    : say`${late.name} has not applied the change yet`
}

function isAsWished({ passwords = [] }: ServerState, { generation, old }: PasswordsWish): boolean {
  return passwords.every((account) => account.generation === generation && (old === 'kept' || !account.keepsOld))
}
