/** A moment as Kubernetes writes it: RFC 3339 in UTC, whole seconds (`metav1.Time`). */
export function timeOf(wallMs: number): string {
  return new Date(wallMs).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** What of an object says whether the object is ready: a pod, or a kind of ours. */
interface Conditioned {
  readonly status?:
    { readonly conditions?: readonly Pick<ConditionStatus, 'type' | 'status'>[] | undefined } | undefined
}

/** Condition `Ready` is `True`. No object is not ready. */
export function isReady(object: Conditioned | undefined): boolean {
  return object?.status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true
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
