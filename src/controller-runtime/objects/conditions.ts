/** A moment as Kubernetes writes it: RFC 3339 in UTC, whole seconds (`metav1.Time`). */
export function timeOf(wallMs: number): string {
  return new Date(wallMs).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** What of a condition decides when it changed (`metav1.Condition`). */
interface ConditionStatus {
  readonly type: string
  readonly status: string
  readonly lastTransitionTime: string
}

/** `lastTransitionTime` of a condition: that of before while its status is the same. */
export function transitionTime(
  before: readonly ConditionStatus[] | undefined,
  { type, status }: Pick<ConditionStatus, 'type' | 'status'>,
  wallMs: number,
): string {
  const last = before?.find((condition) => condition.type === type)
  return last?.status === status ? last.lastTransitionTime : timeOf(wallMs)
}
