import { say, text, type Sentence } from '#common/sentence/sentence.ts'
import { refusal, type ActionRequest, type ActionResult } from '../wire/calls.ts'
import type { Action } from '../wire/definitions.ts'
import { argvOf } from './argv.ts'
import { isReconfigure, refusalForFiles } from './reconfigure-check.ts'

/** Why a call cannot run, or not yet; undefined where it can. Nothing has run then. */
export async function refusalOf(
  action: Action,
  request: ActionRequest,
  isBuiltIn: boolean,
): Promise<ActionResult | undefined> {
  const unfit = complaintAbout(action, request, isBuiltIn)
  if (unfit !== undefined) return refusal('badRequest', unfit)
  return isReconfigure(action.name) ? refusalForFiles(request.parameters ?? {}) : undefined
}

function complaintAbout(action: Action, request: ActionRequest, isBuiltIn: boolean): Sentence | undefined {
  const { exec } = action
  if (!isBuiltIn && !isWhole(action)) return say`${action.name} is invalid`
  if (exec === undefined && request.arguments !== undefined && request.arguments.length > 0)
    return say`runtime arguments are only supported for exec actions`
  const stray = Object.keys(request.parameters ?? {}).find((name) => !/^[^=\0]+$/.test(name))
  if (stray === undefined) return undefined
  return say`parameter ${text(JSON.stringify(stray.slice(0, 60)))} cannot be a variable of an environment`
}

/** Whether there is something to run. */
function isWhole({ exec, http, grpc }: Action): boolean {
  return exec === undefined ? http !== undefined || grpc !== undefined : argvOf(exec).length > 0
}
