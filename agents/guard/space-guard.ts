import { mebibytes, say } from '#common/sentence/sentence.ts'
import { learn, type Learner } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'

/**
 * Stops writes cleanly before the disk is full: a server that runs into a full disk hangs, and that looks like death.
 * Opens again at twice the space, so that it does not flap.
 */
export function guardSpace(parts: Learner & Pick<Parts, 'observer' | 'config' | 'notices'>): void {
  const { observer, config, guards, notices } = parts
  const { freeBytes } = observer
  if (freeBytes === null || config.lowSpaceBytes === 0) return
  const { closed } = guards
  if (closed.space === null && freeBytes < config.lowSpaceBytes) {
    const space = say`low space: ${mebibytes(freeBytes)} free, writes stop below ${mebibytes(config.lowSpaceBytes)}`
    learn(parts, { fact: 'closedFor', space })
    notices.add('LowSpace', space)
  }
  if (closed.space !== null && freeBytes >= config.lowSpaceBytes * 2) {
    learn(parts, { fact: 'closedFor', space: null })
    notices.add('SpaceBack', say`${mebibytes(freeBytes)} free again`)
  }
}
