import { reported, say } from '#common/sentence/sentence.ts'
import type { Answered, Asks } from '#agents/instance/asks.ts'
import type { BuiltInAction } from '../built-in/built-in-action.ts'
import { refusal, succeeded, type ActionResult } from '../wire/calls.ts'

interface AskingParts {
  readonly asks: Asks
}

/**
 * Has the manager that leads switch over from one primary to the named candidate, or to the best one. KubeBlocks calls
 * the action for every instance that is to go: for one whose role is not `primary` nothing is to be done.
 */
export function switchover({ asks }: AskingParts): BuiltInAction {
  return {
    name: 'switchover',
    async run(parameters, patience) {
      const {
        KB_SWITCHOVER_ROLE: role = '',
        KB_SWITCHOVER_CURRENT_NAME: from = '',
        KB_SWITCHOVER_CANDIDATE_NAME: to = '',
      } = parameters
      if (role !== '' && role !== 'primary') return succeeded(Buffer.alloc(0))
      if (from === '' && to === '')
        return refusal(
          'badRequest',
          say`neither KB_SWITCHOVER_CURRENT_NAME nor KB_SWITCHOVER_CANDIDATE_NAME says between whom to switch over`,
        )
      return resultOf(await asks.ask({ wants: 'switchover', from, to: to === '' ? null : to }, patience))
    },
  }
}

export function resultOf(answered: Answered | null): ActionResult {
  if (answered === null)
    return refusal(
      'timedOut',
      say`no manager of Regent that leads has answered in time: nothing was done that is known here`,
    )
  const { outcome, sentence } = answered
  if (outcome === 'done') return succeeded(Buffer.from(sentence))
  return refusal(outcome === 'timedOut' ? 'timedOut' : 'preconditionFailed', say`${reported(sentence)}`)
}
