import type { Step } from '#orchestrator/trees/step.ts'
import type { ServerFacts } from '../servers/seen.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'

/**
 * Why a server does not empty its binlogs: somebody reads them, and would find no place there afterwards. The reader
 * may be a replica that is not watched, or no replica at all. In the words that scripts look for.
 */
export function whyRead(
  instance: string,
  steps: readonly Step[],
  { listed, dumpHosts }: Pick<ServerFacts, 'listed' | 'dumpHosts'>,
): Sentence | undefined {
  const count = Math.max(listed.length, dumpHosts.length)
  const isEmptied = steps.some((step) => step.do === 'resetGtids' && step.at === instance)
  return isEmptied && count > 0
    ? say`gtid-errant-reset-master will not operate on ${instance} because it has ${count} replicas. Expecting no replicas`
    : undefined
}
