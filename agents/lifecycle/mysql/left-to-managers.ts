import type { BuiltInAction } from '../built-in/built-in-action.ts'
import { refusal } from '../wire/calls.ts'

/**
 * Actions that an agent cannot do from beside one mysqld, and what does that instead in a cluster that Regent governs.
 * Each is answered with `notImplemented`: a success that did nothing would be believed.
 */
const instead: Readonly<Record<string, string>> = {
  dataDump:
    'a new instance copies the data of another by CLONE, as Regent’s manager orders; nothing is streamed by scripts',
  dataLoad:
    'a new instance copies the data of another by CLONE, as Regent’s manager orders; nothing is loaded by scripts',
}

export function actionsLeftToManagers(): readonly BuiltInAction[] {
  return Object.entries(instead).map(([name, sentence]) => ({
    name,
    run: async () => refusal('notImplemented', `${name} is not done by an agent alone: ${sentence}`),
  }))
}
