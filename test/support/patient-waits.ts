import { vi } from 'vitest'
import { patienceMs } from './patience.ts'

const { waitFor } = vi
const isPatient = Symbol.for('regent.patient-waits')

/** Vitest waits for one second unless told otherwise: too short for a process of a busy machine. */
function patiently<Found>(look: () => Found | Promise<Found>, options: Parameters<typeof waitFor>[1] = {}) {
  const given = typeof options === 'number' ? { timeout: options } : options
  return waitFor(look, { ...given, timeout: Math.max(given.timeout ?? 0, patienceMs) })
}

// Files of one worker share `vi`.
if (!(isPatient in vi)) Object.assign(vi, { waitFor: patiently, [isPatient]: true })
