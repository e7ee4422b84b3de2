import { RegentError } from '#common/errors/errors.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { OpenLine, XcomLine } from '#agents/group/xcom/line.ts'
import { nullSynode, type Answer, type ClientReply, type Configuration } from '#agents/group/xcom/messages.ts'
import type { GroupSnapshot, MemberIdentity, Synode } from '#agents/group/xcom/messages.ts'
import type { Machine } from '../machine.ts'
import { awaited } from './awaited.ts'
import type { Groups } from './groups.ts'
import type { Agreed, Change } from './ledger.ts'
import { withoutMembers, type Member } from './member.ts'

const lookMs = 40

/** A request of somebody who is no member that a member be removed. */
export interface RemovalAsked {
  /** From this machine. */
  readonly from: Machine
  /** Who proposes the removal. */
  readonly by: Member
  /** Who is at the address that was named. */
  readonly victim: Member
  /** When that machine asked for this one first. */
  readonly firstMs: number
}

/**
 * XCom of the members, as programs of one machine reach that: measured on 9.7 (`test/servers/long/expel.test.ts`). A
 * removal names a member by address and incarnation. The incarnation is compared when a member takes the request, and
 * the address alone counts when the removal is carried out, once what is missing of the victim's messages is filled.
 */
export function simulatedLines(from: Machine, groups: Groups): OpenLine {
  const { time, network, random } = groups
  return async (address, deadlineMs) => {
    const untilMs = time.nowMs + deadlineMs
    // XCom takes a new connection every 100 ms.
    await sleep(groups, network.delayMs(from.name) + random.between(1, 100))
    for (;;) {
      const machine = groups.machineAt(address)
      if (machine !== undefined && network.reachesBothWays(from.name, machine.name)) {
        const member = groups.memberAt(machine)
        if (member === undefined) throw down(say`${address}: no member answers there`)
        if (member.runs) return new SimulatedLine(from, member, groups)
      }
      if (time.nowMs >= untilMs) throw late(address, deadlineMs)
      await sleep(groups, lookMs)
    }
  }
}

class SimulatedLine implements XcomLine {
  readonly address: string
  readonly #from: Machine
  readonly #member: Member
  readonly #groups: Groups
  #hasEnded = false

  constructor(from: Machine, member: Member, groups: Groups) {
    this.address = member.address
    this.#from = from
    this.#member = member
    this.#groups = groups
  }

  get isOpen(): boolean {
    return !this.#hasEnded
  }

  state(deadlineMs: number): Promise<ClientReply> {
    return this.#ask(deadlineMs, () => this.#reply('ok'))
  }

  #reply(answer: Answer): ClientReply {
    const { newest, delivered } = this.#groups.progressOf(this.#member)
    return { kind: 'reply', answer, newest: this.#at(newest), delivered: this.#at(delivered), eventHorizon: 0 }
  }

  #at(entry: number): Synode {
    return { group: this.#groups.idOf(this.#member.ledger), message: BigInt(entry), node: 0 }
  }

  snapshot(_delivered: Synode, deadlineMs: number): Promise<GroupSnapshot> {
    return this.#ask(deadlineMs, () => {
      const { agreed, ledger, position } = this.#member
      const began = ledger.entries.findIndex(({ after: { view } }) => view === agreed.view) + 1
      const configuration: Configuration = {
        start: this.#at(began),
        bootKey: nullSynode,
        members: agreed.seats.map(({ address, incarnation }) => ({ address, incarnation })),
        alive: agreed.seats.map((seat) => !this.#member.detector.isSuspect(seat)),
        eventHorizon: 0,
        mostLeaders: 0,
      }
      return { kind: 'snapshot', logStart: this.#at(1), logEnd: this.#at(position), configurations: [configuration] }
    })
  }

  remove(group: number, named: MemberIdentity, deadlineMs: number): Promise<Answer> {
    return this.#ask(deadlineMs, (): Answer => {
      const by = this.#member
      const victim = by.agreed.seats.find(({ address }) => address === named.address)
      const isAnother = named.incarnation !== '' && named.incarnation !== victim?.incarnation
      if (victim === undefined || isAnother || group !== this.#groups.idOf(by.ledger)) return 'fail'
      this.#groups.removalAsked(this.#from, by, victim)
      const filledMs = this.#groups.filledMs(victim) - this.#groups.time.nowMs
      const isAwaited = victim.name === this.#from.name ? awaited(this.#from, by, this.#groups) : () => false
      this.#groups.time.after(Math.max(0, filledMs), () => {
        if (!by.runs) return
        const removal = by.change((agreed) => this.#carryOut(named, agreed, isAwaited))
        this.#groups.proposes(by, removal)
      })
      return 'ok'
    })
  }

  #carryOut(named: MemberIdentity, agreed: Agreed, isAwaited: () => boolean): ReturnType<Change> {
    const there = agreed.seats.filter(({ address }) => address === named.address)
    const another = there.find(({ incarnation }) => incarnation !== named.incarnation)
    if (another !== undefined && isAwaited()) this.#groups.anotherRemoved(another)
    return withoutMembers(there)(agreed)
  }

  close(): void {
    this.#hasEnded = true
  }

  /** There and back. The member may be cut off, stand still, or be gone, at any moment. */
  async #ask<T>(deadlineMs: number, act: () => T): Promise<T> {
    const { time, network } = this.#groups
    const untilMs = time.nowMs + deadlineMs
    await sleep(this.#groups, network.delayMs(this.#from.name, this.#member.name))
    for (;;) {
      if (this.#hasEnded) throw down(say`${this.address}: this line has ended`)
      const isReached = network.reachesBothWays(this.#from.name, this.#member.name)
      if (isReached && !this.#member.isThere) throw this.#end(down(say`${this.address}: closed by the member`))
      if (isReached && this.#member.runs) break
      if (time.nowMs >= untilMs) throw this.#end(late(this.address, deadlineMs))
      await sleep(this.#groups, lookMs)
    }
    const answer = act()
    this.#groups.answered(this.#from, this.#member)
    await sleep(this.#groups, network.delayMs(this.#member.name, this.#from.name))
    return answer
  }

  #end(error: RegentError): RegentError {
    this.#hasEnded = true
    return error
  }
}

function sleep({ time }: Groups, ms: number): Promise<void> {
  return new Promise((resolve) => time.after(ms, resolve))
}

function down(why: Sentence): RegentError {
  return new RegentError('REGENT_SERVER_DOWN', why)
}

function late(address: string, ms: number): RegentError {
  return new RegentError('REGENT_SERVER_TIMEOUT', say`${address}: no answer within ${ms} ms`)
}
