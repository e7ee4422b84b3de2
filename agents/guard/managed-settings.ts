import { say } from '#common/sentence/sentence.ts'
import { beginsBinlog, isAgreedOn } from '#failover/settings/runtime.ts'
import type { ChangedSetting, ServerState } from '#topology/snapshot/observation.ts'
import type { Parts } from '../instance/parts.ts'
import type { Performers } from '../instance/steps.ts'

/** What guards the settings in any mode. */
export const settingsSteps = { putSettingsRight } satisfies Performers

/**
 * Puts managed settings right that somebody changed while the server runs. A primary on which durability was in doubt
 * meanwhile says so before that (`agents/semisync/put-right.ts`).
 */
async function putSettingsRight(
  parts: Pick<Parts, 'jobs' | 'notices' | 'observer' | 'server'>,
  { state }: { readonly state: ServerState },
): Promise<void> {
  const due = (state.changedSettings ?? []).filter((setting) => isDueNow(parts, state, setting))
  if (due.length === 0) return
  for (const setting of due) await putRight(parts, state, setting)
  parts.observer.outdate()
}

/**
 * What begins another binary log would hang, and others behind it, while a commit waits for an acknowledgement. What a
 * group agrees on is changed here only outside of the group, and forming one is the agent's own doing.
 */
function isDueNow({ jobs }: Pick<Parts, 'jobs'>, state: ServerState, { name }: ChangedSetting): boolean {
  if (beginsBinlog(name)) return state.semiSyncSource.waiting === 0
  const isOutside = state.group?.state === 'OFFLINE' && jobs.startingGroup === null
  if (isAgreedOn(name)) return isOutside
  return name !== 'group_replication_bootstrap_group' || jobs.startingGroup === null
}

async function putRight(
  { server, notices }: Pick<Parts, 'notices' | 'server'>,
  state: ServerState,
  changed: ChangedSetting,
): Promise<void> {
  const { name, seen, wanted } = changed
  // The server refuses this setting while the applier runs.
  const stops = name === 'replica_preserve_commit_order' && state.channel?.sqlRunning === true
  try {
    if (stops) await server.stopApplier()
    await server.setSetting(name, wanted)
    notices.add('SettingPutRight', say`${name} is ${wanted} again (by another hand it was ${seen})`)
  } catch (error) {
    notices.failed('SettingStays', say`${name} is ${seen} by another hand and could not be set to ${wanted}`, error)
  } finally {
    if (stops) await server.startApplier()
  }
}
