import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { PrimaryAssignment } from '#failover/protocol/assignment.ts'
import type { Parts } from '../instance/parts.ts'

/**
 * A primary waits so long for the manager to hand it over, and a counted replica to be let out of the sync set. Well
 * within a pod's grace.
 */
const handOverMs = 60_000
const leaveMs = 5_000
/** With nobody connected who could take over, a primary waits only for this long. */
const aloneMs = 5_000

/**
 * Why an instance that was told to end goes on for now; null where its server may go. Whoever counts can take over,
 * also where writes need nobody: after a kill a failover would wait for the agent that ends with its pod.
 */
export function waitsToEnd(parts: Pick<Parts, 'file' | 'observer' | 'process'>, waitedMs: number): Sentence | null {
  const { assignment } = parts.file.current
  if (assignment === null) return null
  if (assignment.role === 'primary')
    return mayHandOver(assignment) && waitedMs < successorMs(parts)
      ? say`mysqld stops once another instance is primary`
      : null
  return assignment.counted && waitedMs < leaveMs ? say`mysqld stops once the instance is out of the sync set` : null
}

/** Where writes need replicas some are about to count. */
function mayHandOver({ acks, counted }: PrimaryAssignment): boolean {
  return acks > 0 || counted.length > 0
}

/** A server that starts can have nobody connected yet. */
function successorMs({ observer: { server }, process }: Pick<Parts, 'observer' | 'process'>): number {
  const mayHaveSuccessor = process.state === 'starting' || server?.dumpThreads.some(({ semiSync }) => semiSync) === true
  return mayHaveSuccessor ? handOverMs : aloneMs
}
