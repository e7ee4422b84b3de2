import { say } from '#common/sentence/sentence.ts'
import { learn } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'
import { leads } from '../instance/stored-state.ts'
import { isDown } from '../ports/process.ts'
import { doubtOpening } from './opened.ts'
import { keepUnsettled, type DoubtParts } from './unsettled.ts'

/**
 * A mysqld that another hand started while its agent holds mysqld down, or is about to start it, is nobody's: no gate
 * was passed, and its files are not to be read or cut while it writes there. So it is ended as any server that is not
 * wanted, and the gate goes on. What it may have acknowledged is on disk as a doubt before: of a server with a tail,
 * that the tail may have been acknowledged; of one that did not come up closed, that it was opened.
 */
export async function endStartedByHand(parts: DoubtParts & Pick<Parts, 'notices' | 'process'>): Promise<void> {
  const { process, file, notices, copying } = parts
  // Under a copy the files are about to be replaced, and whoever replaces them ends it.
  if (!isDown(process) || copying.progress !== null) return
  const other = await process.findOther?.()
  if (!other) return
  const { mayHaveTail, opened } = file.current
  if (mayHaveTail) await keepUnsettled(parts)
  // A server that leads by itself has a tail, and the doubt about that tail.
  if (!other.startedClosed && !opened && !(mayHaveTail && leads(file.current)))
    await doubtOpening(parts, say`mysqld was started with other settings than those of its agent`)
  notices.add(
    'StartedByHand',
    say`mysqld ${other.pid} runs on this volume and was not started by its agent: it is ended`,
  )
  await other.end()
  learn(parts, { fact: 'filesChanged' })
  learn(parts, { fact: 'openedByHand' })
}
