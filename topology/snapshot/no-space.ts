/**
 * Whether an applier stopped because its disk is full: 1114 for a table, 1021 for a file, and what the system itself
 * says. What was received is sound, and is applied once there is space.
 */
export function isForLackOfSpace(error: string): boolean {
  return /(?:Error_code: |MY-00)(?:1114|1021)\b|No space left on device|errno: 28\b/.test(error)
}

/**
 * Whether an applier stopped at what passes: a full disk, or a lock of somebody (1205). Nothing is wrong with what was
 * received, and a copy would cost more.
 */
export function passesByItself(error: string): boolean {
  return isForLackOfSpace(error) || /(?:Error_code: |MY-00)1205\b/.test(error)
}
