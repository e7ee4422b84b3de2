import { learn, type Learner } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'
import { mebibytes } from '#common/text/words.ts'

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
    const space = `low space: ${mebibytes(freeBytes)} MiB free, writes stop below ${mebibytes(config.lowSpaceBytes)} MiB`
    learn(parts, { fact: 'closedFor', space })
    notices.add('LowSpace', space)
  }
  if (closed.space !== null && freeBytes >= config.lowSpaceBytes * 2) {
    learn(parts, { fact: 'closedFor', space: null })
    notices.add('SpaceBack', `${mebibytes(freeBytes)} MiB free again`)
  }
}
