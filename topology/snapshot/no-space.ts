/**
 * Whether an applier stopped because its disk is full: 1114 for a table, 1021 for a file, and what the system itself
 * says. What was received is sound, and is applied once there is space.
 */
export function isForLackOfSpace(error: string): boolean {
  return /(?:Error_code: |MY-00)(?:1114|1021)\b|No space left on device|errno: 28\b/.test(error)
}

/**
 * What an applier stopped at although nothing is wrong with what was received: a lock of somebody (1205, 1213), memory
 * (1037, 1038, 1041), a KILL of one of its threads (1317), or a stop in the midst of a transaction that went on for
 * more than a minute (1756). The server itself says of such a stop that a restart restores consistency.
 */
const passing = /(?:Error_code: |MY-00)(?:1037|1038|1041|1205|1213|1317|1756)\b/

/** Whether an applier stopped at what passes, a full disk among that: a copy would cost more. */
export function passesByItself(error: string): boolean {
  return isForLackOfSpace(error) || passing.test(error)
}
