import { say } from '#common/sentence/sentence.ts'
import type { ServerPort } from '#agents/ports/server.ts'
import type { BuiltInAction, Parameters, Patience } from '../built-in/built-in-action.ts'
import { refusal, succeeded, type ActionResult } from '../wire/calls.ts'
import { accountStatements } from './account-statements.ts'
import { roleAfterLook, roleOf, type RoleParts } from './role.ts'

type ProvisionParts = RoleParts & { readonly server: Pick<ServerPort, 'provisionAccount'> }

/** So long a statement waits for acknowledgements where the call says no time. */
const patienceMs = 30_000

/**
 * Makes an account by the statements of the call, at the primary alone: elsewhere the statements would be errant
 * transactions. Calls run one after the other, so that callers that try again do not pile up behind a primary whose
 * writes wait.
 */
export function accountProvision(parts: ProvisionParts): BuiltInAction {
  let before: Promise<unknown> = Promise.resolve()
  return {
    name: 'accountProvision',
    async run(parameters, patience) {
      const mine = before.then(() => provision(parts, parameters, patience))
      before = mine.catch(() => undefined)
      return mine
    },
  }
}

async function provision(parts: ProvisionParts, parameters: Parameters, patience: Patience): Promise<ActionResult> {
  const {
    KB_ACCOUNT_NAME: name = '',
    KB_ACCOUNT_PASSWORD: password = '',
    KB_ACCOUNT_STATEMENT: statement = '',
  } = parameters
  const statements = accountStatements({ name, password, statement })
  const role = await roleAfterLook(parts)
  if (role.is !== 'primary') {
    const why = role.is === 'secondary' ? say`this instance is a replica` : role.why
    return refusal(
      'preconditionFailed',
      say`accounts are made at the primary, and ${parts.config.instance} is not: ${why}`,
    )
  }
  // While its turn had not come. The caller is answered, and may have asked for something else since.
  if (patience.signal.aborted) return refusal('timedOut')
  const deadlineMs = patience.deadlineMs ?? patienceMs
  const mayGoOn = (): boolean => roleOf(parts).is === 'primary' && !patience.signal.aborted
  await parts.server.provisionAccount(name, statements, { deadlineMs, mayGoOn })
  return succeeded(Buffer.alloc(0))
}
