import { measureActions } from './lifecycle-actions.ts'
import { measureIdleProbes } from './lifecycle-idle.ts'
import type { CaseResult } from './report.ts'
import { measureRoleToLabel } from './role-to-label.ts'

/** What `regent lifecycle-agent` takes, by itself and with the pipeline that brings roles to labels. */
export async function measureLifecycle(runs: number, told: (line: string) => void): Promise<readonly CaseResult[]> {
  const role = await measureRoleToLabel(runs, told)
  return [...(role === undefined ? [] : [role]), await measureActions(runs), await measureIdleProbes()]
}
