/**
 * Whether an applier stopped because its disk is full: 1114 for a table, 1021 for a file, and what the system itself
 * says. What was received is sound, and is applied once there is space.
 */
export function isForLackOfSpace(error: string): boolean {
  return /(?:Error_code: |MY-00)(?:1114|1021)\b|No space left on device|errno: 28\b/.test(error)
}
