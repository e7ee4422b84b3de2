import type { BuiltInAction } from '../built-in/built-in-action.ts'
import { refusal } from '../wire/calls.ts'

/**
 * Actions that an agent cannot do from beside one mysqld, and what does that instead in a cluster that Regent governs.
 * Each is answered with `notImplemented`: a success that did nothing would be believed.
 */
const instead: Readonly<Record<string, string>> = {
  postProvision:
    'an instance is made whole before its agent is ready: accounts, schema and replication come with the first assignment of Regent’s manager',
  preTerminate:
    'a cluster ends when its MySQLCluster is deleted, or when it is taken down on its machine; each agent hands over and stops its mysqld in order',
  switchover:
    'who is primary is in the record, which only Regent’s manager changes: "regent switchover", or POST /api/v1/clusters/<cluster>/switchover',
  memberJoin:
    'Regent’s manager has a new instance copy the data, follow, and enter the sync set or the group by itself, as soon as its agent answers',
  memberLeave:
    'Regent’s manager takes an instance out of the sync set or the group before its pod goes: lower the number of instances, or delete the pod',
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
