import { whyNotRemove, type KnownGroup } from '../../../agents/group/xcom/may-remove.ts'
import { nullSynode, type MemberIdentity } from '../../../agents/group/xcom/messages.ts'
import type { ExpulsionPort } from '../../../agents/ports/expulsion.ts'
import type { Machine } from '../machine.ts'
import type { Groups } from './groups.ts'
import type { Ledger } from './ledger.ts'
import { withoutMembers, type Member } from './member.ts'

const answerMs = 1_000
const agreedMs = 6_000
const pollMs = 10

interface Known {
  readonly ledger: Ledger
  readonly seats: readonly Member[]
}

/**
 * Has the others remove a dead member. Whether that may be asked for, the shipped rule says (`may-remove.ts`). XCom
 * looks at the incarnation when a request is taken, and at the address alone when that is carried out.
 */
export function simulatedExpulsion(machine: Machine, groups: Groups): ExpulsionPort {
  let known: Known | null = null
  let own: Member | null = null
  const sleep = (ms: number): Promise<void> => new Promise((resolve) => groups.time.after(ms, resolve))

  async function expel(): Promise<string> {
    if (known === null || own === null) return 'who is in the group was not known: its time-outs remove the dead member'
    const { ledger, seats } = known
    const victim = own
    await sleep(groups.random.between(1, 30))
    const answering = seats.filter(
      (seat) => seat !== victim && seat.runs && groups.network.reachesBothWays(machine.name, seat.name),
    )
    const refusal = whyNotRemove({
      group: groupOf(known),
      victims: [identityOf(victim)],
      answering: answering.map(({ name }) => name),
    })
    if (refusal !== null) {
      await sleep(answerMs)
      return refusal.sentence
    }
    const [asked] = answering.filter(() => ledger.now.seats.includes(victim))
    if (asked === undefined) return `The members refuse to remove ${machine.name}: gone already, or come back.`
    // What is missing of the dead one's messages is filled first.
    await sleep(groups.random.between(180, 700))
    const proposal = asked.change((agreed) =>
      withoutMembers(agreed.seats.filter(({ name }) => name === victim.name))(agreed),
    )
    for (const untilMs = groups.time.nowMs + agreedMs; ledger.isPending(proposal) && groups.time.nowMs < untilMs;)
      await sleep(pollMs)
    return `The removal of ${machine.name} was accepted.`
  }

  return {
    know: () => {
      const member = groups.memberAt(machine)
      if (member === undefined) return
      own = member
      known = { ledger: member.ledger, seats: member.agreed.seats }
    },
    // All have one address here, that of loopback: nobody is told to remove another one's member.
    silence: new Map(),
    expel,
    close: () => undefined,
  }
}

function identityOf({ name, incarnation }: Member): MemberIdentity {
  return { address: name, incarnation }
}

function groupOf({ seats }: Known): KnownGroup {
  const members = seats.map(identityOf)
  return {
    id: 1,
    configuration: { start: nullSynode, bootKey: nullSynode, members, alive: [], eventHorizon: 10, mostLeaders: 0 },
    versions: seats.map(() => '9.7.4'),
    singleLeader: false,
  }
}
