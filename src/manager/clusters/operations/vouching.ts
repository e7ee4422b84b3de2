import { withoutIncarnations } from '#failover/judge/data/incarnations.ts'
import { instanceOf, type MemberId } from '#topology/snapshot/member.ts'
import type { Asking } from './asking.ts'
import type { Plan } from './performer.ts'

/**
 * The volume of a member went back in time, and a person wants what is on that volume: its word is taken from now on.
 * Whether the member leads, or what else is missing, is decided then.
 */
export function vouchFor({ cluster }: Asking, member: MemberId): Plan {
  const name = instanceOf(member)
  const sentence = `the volume of ${name} is taken as it is, and what it may have forgotten since it was copied is given up`
  return {
    would: {
      sentence: `would fail over: ${sentence}`,
      plan: [
        `${name} is believed again, under its own name`,
        'whoever can lead then is decided as after any other failure',
      ],
    },
    act: async () => {
      await cluster.loop.changeNotes((notes) => withoutIncarnations(notes, member))
      return { sentence }
    },
  }
}
