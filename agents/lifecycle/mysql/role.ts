import { lasting, say, type Sentence } from '#common/sentence/sentence.ts'
import type { Parts } from '#agents/instance/parts.ts'
import { whyClosed } from '#agents/instance/known.ts'
import { leads } from '#agents/instance/stored-state.ts'
import type { ServerState } from '#topology/snapshot/observation.ts'

/** What the agent of one instance knows, as far as its role depends on that. */
export type RoleParts = Pick<Parts, 'config' | 'file' | 'process' | 'observer' | 'guards'>

/**
 * The role of an instance as its agent knows the role, in the spelling of KubeBlocks' MySQL components. `none`: the
 * agent knows that the instance serves in no role at this moment. `unknown`: the agent cannot tell.
 */
export type Role =
  | { readonly is: 'primary' }
  | { readonly is: 'secondary' }
  | { readonly is: 'none'; readonly why: Sentence }
  | { readonly is: 'unknown'; readonly why: Sentence }

const none = (why: Sentence): Role => ({ is: 'none', why })
const unknown = (why: Sentence): Role => ({ is: 'unknown', why })

/**
 * The role. Reads nothing, and waits for nothing. `primary` is said only of a server that was seen to take writes after
 * everything that its agent did to the server, in the epoch that the agent promised last, with the lease in force: a
 * label that says so sends clients' writes here. A promise, a fence or a lost lease ends the role before the server is
 * closed.
 */
export function roleOf(parts: RoleParts): Role {
  const { observer } = parts
  const out = whyOut(parts)
  if (out !== undefined) return none(out)
  const state = observer.server
  const unseen = whyUnseen(parts)
  if (unseen !== undefined || state === null) return unknown(unseen ?? say`mysqld has not answered yet`)
  return parts.file.current.assignment?.role === 'primary' ? roleOfPrimary(state) : roleOfReplica(state)
}

/** What is known without the server, and keeps the instance out of every role. */
function whyOut({ file, process, guards }: RoleParts): Sentence | undefined {
  const { assignment, seeding, unproven, promise } = file.current
  if (assignment === null) return say`no manager has told this instance yet what to be: its mysqld stays closed`
  if (process.state !== 'running' && process.state !== 'stopped') return say`mysqld is ${process.state}`
  if (seeding || unproven) return say`this instance is made anew as a copy of another one`
  if (assignment.role !== 'primary') return undefined
  if (!leads(file.current))
    return say`this instance promised epoch ${promise}, and leads epoch ${assignment.epoch} no more`
  if (assignment.fenced) return say`this instance is fenced by a person`
  return whyClosed(guards) ?? undefined
}

function whyUnseen({ process, observer }: RoleParts): Sentence | undefined {
  if (process.state === 'stopped') return say`mysqld is frozen`
  if (observer.silentMs > 0) return say`mysqld has answered nothing ${lasting(observer.silentMs)}`
  return observer.isFresh ? undefined : say`mysqld was not looked at since its agent changed it`
}

function roleOfPrimary(state: ServerState): Role {
  return isOpen(state) ? { is: 'primary' } : none(say`this instance leads and is not open: no client may write`)
}

function roleOfReplica(state: ServerState): Role {
  if (!state.superReadOnly) return none(say`this server takes writes, and the record does not name it as the primary`)
  return state.offlineMode ? none(say`this server is offline: no client is let in`) : { is: 'secondary' }
}

/** Whether the server takes writes of clients. */
export function isOpen({ readOnly, superReadOnly, offlineMode }: ServerState): boolean {
  return !readOnly && !superReadOnly && !offlineMode
}

/** The role, after a look at a server that was not looked at since its agent changed it. */
export async function roleAfterLook(parts: RoleParts): Promise<Role> {
  const role = roleOf(parts)
  if (role.is !== 'unknown' || parts.process.state !== 'running' || parts.observer.silentMs > 0) return role
  // A look that fails is itself what is known afterwards.
  await parts.observer.refresh().catch(() => undefined)
  return roleOf(parts)
}
