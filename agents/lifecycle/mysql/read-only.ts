import type { BuiltInAction } from '../built-in/built-in-action.ts'
import { refusal, succeeded, type ActionResult } from '../wire/calls.ts'
import { isOpen, roleAfterLook, type RoleParts } from './role.ts'

/**
 * `readonly` and `readwrite` check, and change nothing: which server takes writes is in the record, and an agent that
 * opened or closed its server by another word than an assignment would have it put right a moment later.
 */
export function readOnlyActions(parts: RoleParts): readonly BuiltInAction[] {
  return [
    { name: 'readonly', run: async () => sayReadOnly(parts) },
    { name: 'readwrite', run: async () => sayReadWrite(parts) },
  ]
}

const done: ActionResult = succeeded(Buffer.alloc(0))

async function sayReadOnly(parts: RoleParts): Promise<ActionResult> {
  const role = await roleAfterLook(parts)
  if (role.is === 'unknown') return refusal('failed', role.why)
  const { server } = parts.observer
  if (server === null) return refusal('preconditionFailed', role.is === 'none' ? role.why : 'mysqld does not answer')
  if (!isOpen(server) && server.superReadOnly) return done
  const { instance } = parts.config
  return refusal(
    'notImplemented',
    `${instance} takes writes, and an agent does not close its primary for a caller: "regent fence ${instance}" does; before a disk is full the agent closes its primary by itself`,
  )
}

async function sayReadWrite(parts: RoleParts): Promise<ActionResult> {
  const role = await roleAfterLook(parts)
  if (role.is === 'primary') return done
  if (role.is === 'unknown') return refusal('failed', role.why)
  const { instance } = parts.config
  if (role.is === 'none') return refusal('preconditionFailed', `${instance} takes no writes: ${role.why}`)
  return refusal(
    'notImplemented',
    `${instance} is a replica, and a replica takes no writes: "regent switchover" makes it the primary`,
  )
}
