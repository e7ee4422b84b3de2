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

export const resume: Performer<'resume'> = ({ cluster: { loop } }) => ({
  would: { sentence: 'would resume' },
  act: async () => {
    await loop.changeNotes((notes) => ({ ...notes, paused: null }))
    return { sentence: 'resumed' }
  },
})
