import type { Parts } from '#agents/instance/parts.ts'
import type { BuiltInAction } from '../built-in/built-in-action.ts'
import { accountProvision } from './account-provision.ts'
import { dataDump } from './data-dump.ts'
import { dataLoad } from './data-load.ts'
import { membershipActions } from './join-and-leave.ts'
import { builtInProbes } from './probes.ts'
import { provisionActions } from './provision.ts'
import { readOnlyActions } from './read-only.ts'
import { reconfigure } from './reconfigure.ts'
import { switchover } from './switchover.ts'

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
