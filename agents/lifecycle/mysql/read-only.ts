import { say } from '#common/sentence/sentence.ts'
import type { Parts } from '#agents/instance/parts.ts'
import type { BuiltInAction, Patience } from '../built-in/built-in-action.ts'
import { refusal, succeeded, type ActionResult } from '../wire/calls.ts'
import { isOpen, roleAfterLook, type RoleParts } from './role.ts'
import { resultOf } from './switchover.ts'

type FencedParts = RoleParts & Pick<Parts, 'asks'>

/**
 * `readonly` and `readwrite`: which server takes writes is in the record, and an agent that opened or closed its server
 * by another word would have that put right a moment later. So a primary is fenced by the manager, as the primary that
 * stays, and let go again. A fenced server lets no client in.
 */
export function readOnlyActions(parts: FencedParts): readonly BuiltInAction[] {
  return [
    { name: 'readonly', run: (_given, patience) => makeReadOnly(parts, patience) },
    { name: 'readwrite', run: (_given, patience) => makeReadWrite(parts, patience) },
  ]
}

const done: ActionResult = succeeded(Buffer.alloc(0))

async function makeReadOnly(parts: FencedParts, patience: Patience): Promise<ActionResult> {
  const role = await roleAfterLook(parts)
  if (role.is === 'unknown') return refusal('failed', role.why)
  const { server } = parts.observer
  if (server === null) return refusal('preconditionFailed', role.is === 'none' ? role.why : say`mysqld does not answer`)
  if (!isOpen(server) && server.superReadOnly) return done
  return resultOf(await parts.asks.ask({ wants: 'fence', instance: parts.config.instance }, patience))
}

async function makeReadWrite(parts: FencedParts, patience: Patience): Promise<ActionResult> {
  const { instance } = parts.config
  const isFenced = parts.file.current.assignment?.fenced === true
  if (isFenced) return resultOf(await parts.asks.ask({ wants: 'unfence', instance }, patience))
  const role = await roleAfterLook(parts)
  if (role.is === 'primary') return done
  if (role.is === 'unknown') return refusal('failed', role.why)
  const why = role.is === 'none' ? role.why : say`this instance is a replica; "switchover" makes it the primary`
  return refusal('preconditionFailed', say`${instance} takes no writes: ${why}`)
}
