import { say } from '#common/sentence/sentence.ts'
import { endOfPause } from '#failover/flows/resuming.ts'
import { pauseOfResource, type Pause } from '#failover/protocol/notes.ts'
import type { Asking } from './asking.ts'
import type { Performer, Plan } from './performer.ts'

export const pause: Performer<'pause'> = ({ input, cluster: { loop, world } }, { reason }) => {
  const { paused: before } = input.notes
  if (before?.by === 'resource') {
    // A person's pause in that place would be taken for what `resume` ends.
    const sentence = say`paused already, by the resource: to end that, ${endOfPause(before, input.cluster)}`
    return { would: { sentence }, act: async () => ({ sentence }) }
  }
  return {
    would: { sentence: 'would pause: nothing is decided automatically until resumed' },
    act: async () => {
      const paused: Pause = { reason: reason || 'by a person', wallMs: world.clock.wallMs(), by: 'person' }
      await loop.changeNotes((notes) => ({ ...notes, paused }))
      return { sentence: 'paused: nothing is decided automatically; agents keep what is safe' }
    },
  }
}

export const resume: Performer<'resume'> = (asking) => {
  const { input, cluster } = asking
  const { paused } = input.notes
  if (paused?.by === 'resource')
    throw asking.refusal(say`no resume: the resource pauses it; ${endOfPause(paused, input.cluster)}`)
  if (cluster.isPausedByResource()) return toPauseOfResource(asking)
  return {
    would: { sentence: 'would resume' },
    act: async () => {
      await cluster.loop.changeNotes((notes) => ({ ...notes, paused: null }))
      return { sentence: 'resumed' }
    },
  }
}

/** At once: in between something would be decided that the resource forbids. */
function toPauseOfResource({ input, cluster: { loop, world } }: Asking): Plan {
  const paused = pauseOfResource(world.clock.wallMs())
  const end = endOfPause(paused, input.cluster)
  return {
    would: { sentence: say`would resume, and stay paused by the resource: to end that, ${end}` },
    act: async () => {
      await loop.changeNotes((notes) => ({ ...notes, paused }))
      return { sentence: say`resumed, and still paused by the resource: to end that, ${end}` }
    },
  }
}
