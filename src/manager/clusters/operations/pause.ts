import { say } from '#common/sentence/sentence.ts'
import { endOfPause } from '#failover/flows/resuming.ts'
import type { Pause } from '#failover/protocol/notes.ts'
import type { Performer } from './performer.ts'

export const pause: Performer<'pause'> = ({ cluster: { loop, world } }, { reason }) => ({
  would: { sentence: 'would pause: nothing is decided automatically until resumed' },
  act: async () => {
    const paused: Pause = { reason: reason || 'by a person', wallMs: world.clock.wallMs(), by: 'person' }
    await loop.changeNotes((notes) => ({ ...notes, paused }))
    return { sentence: 'paused: nothing is decided automatically; agents keep what is safe' }
  },
})

export const resume: Performer<'resume'> = (asking) => {
  const { input, cluster } = asking
  const { paused } = input.notes
  if (paused?.by === 'resource')
    throw asking.refusal(say`no resume: the resource pauses it; ${endOfPause(paused, input.cluster)}`)
  return {
    would: { sentence: 'would resume' },
    act: async () => {
      await cluster.loop.changeNotes((notes) => ({ ...notes, paused: null }))
      return { sentence: 'resumed' }
    },
  }
}
