import { doubtsOf, settle } from '../doubts/unsettled.ts'
import { learn, type Learner } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'

/**
 * Another hand leads now. Waiting sessions are never drained: killed, so that what they wait for stays a tail that can
 * be cut.
 */
export async function stepDown(parts: Learner & Pick<Parts, 'file' | 'process' | 'server'>): Promise<void> {
  const { process, course, file, server } = parts
  learn(parts, { fact: 'unmade', stage: 'leading' })
  if (process.state === 'dead' || process.state === 'absent') return
  const demoted =
    course.promiseReport?.epoch === file.current.promise &&
    course.promiseReport.asPrimary &&
    process.state === 'running'
  if (!demoted) return process.kill()
  await server.setEvents(false)
  // Everything here was promised and belongs to what the new primary holds.
  await settle(parts, doubtsOf(parts), { mayHaveTail: false })
}
