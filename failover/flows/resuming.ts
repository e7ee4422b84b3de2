import { command, say, type Sentence } from '#common/sentence/sentence.ts'
import type { Pause } from '../protocol/notes.ts'

/** What ends a pause. A resource that says so itself would pause the cluster again, at a moment that nobody chose. */
export function endOfPause({ by }: Pause, cluster: string): Sentence {
  return by === 'resource' ? say`set spec.paused of MySQLCluster ${cluster} to false` : say`${command('resume')}`
}
