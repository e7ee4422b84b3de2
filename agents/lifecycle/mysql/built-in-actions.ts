import { say } from '#common/sentence/sentence.ts'
import type { Parts } from '#agents/instance/parts.ts'
import type { BuiltInAction } from '../built-in/built-in-action.ts'
import { refusal } from '../wire/calls.ts'
import { accountProvision } from './account-provision.ts'
import { dataDump } from './data-dump.ts'
import { membershipActions } from './join-and-leave.ts'
import { builtInProbes } from './probes.ts'
import { provisionActions } from './provision.ts'
import { readOnlyActions } from './read-only.ts'
import { reconfigure } from './reconfigure.ts'
import { switchover } from './switchover.ts'

/**
 * `dataLoad` is a worker's, before any mysqld runs. Beside a mysqld the answer is `notImplemented`: a success that did
 * nothing would be believed.
 */
const dataLoad: BuiltInAction = {
  name: 'dataLoad',
  run: async () =>
    refusal(
      'notImplemented',
      say`dataLoad is not done beside a mysqld: the manager has this instance copied from another; a worker (--server=false --data-dir <folder>) fills an empty folder`,
    ),
}

/** All actions that an agent beside a mysqld has without a script, by KubeBlocks' names. */
export function builtInActions(parts: Parts): readonly BuiltInAction[] {
  return [
    ...builtInProbes(parts),
    accountProvision(parts),
    dataDump(parts),
    ...readOnlyActions(parts),
    reconfigure(parts),
    switchover(parts),
    ...membershipActions(parts),
    ...provisionActions(parts),
    dataLoad,
  ]
}
