import { expect, vi } from 'vitest'
import { patienceMs } from './patience.ts'

const { waitFor, waitUntil } = vi
const { poll } = expect
const isPatient = Symbol.for('regent.patient-waits')

/** Vitest waits for one second unless told otherwise: too short for a process of a busy machine, as any bound is. */
function patient<Options extends { readonly timeout?: number }>(options: number | Options = {} as Options) {
  const given = typeof options === 'number' ? ({ timeout: options } as Options) : options
  return { ...given, timeout: Math.max(given.timeout ?? 0, patienceMs) }
}

// Files of one worker share `vi` and `expect`.
if (!(isPatient in vi)) {
  const waitForPatiently: typeof waitFor = (look, options) => waitFor(look, patient(options))
  const waitUntilPatiently: typeof waitUntil = (look, options) => waitUntil(look, patient(options))
  const pollPatiently: typeof poll = (look, options) => poll(look, patient(options))
  Object.assign(vi, { waitFor: waitForPatiently, waitUntil: waitUntilPatiently, [isPatient]: true })
  expect.poll = pollPatiently
}
