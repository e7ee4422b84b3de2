import { inPlace } from '#common/errors/commands.ts'
import { RegentError } from '#common/errors/errors.ts'
import type { ClusterLoop } from '../loop/cluster-loop.ts'
import type { EndedRecovery } from '../loop/recovery-book.ts'
import type { OperationResult } from '#api-contract/operation-result.ts'
import type { OperationName, OperationRequest } from '#api-contract/operations.ts'
import { instanceOf, type InstanceName, type MemberId } from '#topology/snapshot/member.ts'
import { modeOf } from '#failover/decide.ts'
import { trialOf, whyNoFailover, type AskedFailover } from '#failover/way-out/asked-failover.ts'
import { inWords, wayOut } from '#failover/way-out/way-out.ts'
import { describeDowntime, downtimeOf, withDowntime, withoutDowntime } from '#failover/judge/downtime.ts'
import { withoutIncarnations } from '#failover/judge/incarnations.ts'
import { isFenced, viewNamed, type DecisionInput, type Request, type Situation } from '#failover/judge/situation.ts'
import type { Pause } from '#failover/protocol/notes.ts'
import { planReplace } from '#failover/flows/replace.ts'
import { planScale } from '#failover/flows/scaling.ts'
import { judgePrimary } from '#failover/judge/verdict.ts'
import { counted, allOf } from '#common/text/words.ts'
import { takesAway, whyNotMeant } from './switchover-wish.ts'
import type { World } from '#common/ports/ports.ts'
import type { Platform } from '#common/ports/platform.ts'

/** How long an operation that has no deadline of its own is waited for. */
const patienceMs = 30_000

/** What operations hear from the cluster, and tell it. */
export interface OperatedCluster {
  /** Resolves when such a recovery of the cluster ended. */
  ended(matches: (recovery: EndedRecovery) => boolean, timeoutMs: number): Promise<EndedRecovery | undefined>
  /** Something that was asked for is refused, and why. */
  declined(sentence: string): void
}

/** What people ask for: checked and planned by the same pure code that decides, then handed to the loop. */
export class Operations {
  readonly #loop: ClusterLoop
  readonly #world: World
  readonly #platform: Pick<Platform, 'wish' | 'replace'>
  readonly #cluster: OperatedCluster
  readonly #place: DecisionInput['place']

  constructor(
    loop: ClusterLoop,
    ports: { readonly world: World; readonly platform: Pick<Platform, 'wish' | 'replace'> },
    cluster: OperatedCluster,
    place: DecisionInput['place'],
  ) {
    this.#loop = loop
    this.#world = ports.world
    this.#platform = ports.platform
    this.#cluster = cluster
    this.#place = place
  }

  readonly #performers: {
    readonly [N in OperationName]: (request: OperationRequest<N>) => Promise<OperationResult>
  } = {
    switchover: (request) => this.switchover(request),
    failover: (request) => this.failover(request),
    fence: (request) => this.fence(request),
    unfence: (request) => this.unfence(request),
    pause: (request) => this.pause(request),
    resume: (request) => this.resume(request),
    downtime: (request) => this.downtime(request),
    'end-downtime': (request) => this.endDowntime(request),
    scale: (request) => this.scale(request),
    replace: (request) => this.replace(request),
  }

  perform<N extends OperationName>(name: N, request: OperationRequest<N>): Promise<OperationResult> {
    return this.#performers[name](request)
  }

  async switchover(request: OperationRequest<'switchover'>): Promise<OperationResult> {
    const situation = this.#situation()
    for (const named of [request.from, request.to]) if (named !== undefined) this.#mustExist(situation, named)
    this.#mustBeAlone('switchover', request, situation)
    const stale = whyNotMeant(situation, request)
    if (stale !== null) throw this.#refusal(request, `no switchover: ${stale}`)
    const timeoutMs = request.timeoutMs ?? this.#loop.spec.switchover.timeoutMs
    const plan = modeOf(situation.spec).planSwitchover(situation, request.to ?? null, timeoutMs)
    if ('refusal' in plan) throw this.#refusal(request, `no switchover: ${plan.refusal}`)
    const to = instanceOf(plan.candidate)
    if (request.dryRun)
      return {
        done: false,
        dryRun: true,
        sentence: `would switch over from ${instanceOf(situation.record.primary)} to ${to}`,
        plan: plan.steps,
      }
    return this.#switchOver(situation, { ...request, to, timeoutMs })
  }

  async #switchOver(
    situation: Situation,
    request: OperationRequest<'switchover'> & { readonly to: InstanceName; readonly timeoutMs: number },
  ): Promise<OperationResult> {
    const { to, timeoutMs, reason } = request
    const id = this.#world.random.hex(12)
    this.#loop.addRequest({
      kind: 'switchover',
      id,
      from: instanceOf(situation.record.primary),
      to,
      deadlineWallMs: this.#world.clock.wallMs() + timeoutMs,
      reason: reason || 'asked for',
    })
    try {
      const cameFirst = (recovery: EndedRecovery) => takesAway(situation.record, recovery) && !answering(id)(recovery)
      const recovery = await this.#cluster.ended((one) => answering(id)(one) || cameFirst(one), timeoutMs + patienceMs)
      if (recovery !== undefined && cameFirst(recovery))
        throw this.#refusal(request, `no switchover: another ${recovery.kind} came first: ${recovery.sentence}`)
      return this.#resultOf(recovery, `switchover to ${to}`)
    } finally {
      this.#loop.dropRequest(id)
    }
  }

  failover(request: OperationRequest<'failover'>): Promise<OperationResult> {
    const input = this.#loop.input()
    return input.record === undefined && request.acceptLoss ? this.#bootstrap(input, request) : this.#failOver(request)
  }

  async #failOver(request: OperationRequest<'failover'>): Promise<OperationResult> {
    const situation = this.#situation()
    if (request.to !== undefined) this.#mustExist(situation, request.to)
    this.#mustBeAlone('failover', request, situation)
    const { to = null, acceptLoss, dryRun } = request
    const refused = whyNoFailover(situation, { to, acceptLoss })
    if (refused !== null) throw this.#refusal(request, refused)
    const past = to === null ? undefined : viewNamed(situation.snapshot, to)?.past
    if (past !== undefined) return this.#vouchFor(past, request)
    if (dryRun) return this.#plannedFailover(situation, { to, acceptLoss })
    const id = this.#world.random.hex(12)
    this.#loop.addRequest({ kind: 'failover', id, to, acceptLoss })
    try {
      const recovery = await this.#cluster.ended(answering(id), patienceMs)
      return this.#resultOf(recovery, 'failover')
    } finally {
      this.#loop.dropRequest(id)
    }
  }

  #plannedFailover(situation: Situation, { to, acceptLoss }: AskedFailover): OperationResult {
    const mode = modeOf(situation.spec)
    const [goesOn] = trialOf(situation, { to, acceptLoss }).actions.flatMap((action) =>
      action.kind === 'commit' && action.isAnswer === true ? [action.why] : [],
    )
    if (goesOn !== undefined)
      return { done: false, dryRun: true, sentence: `would not fail over: ${goesOn}`, plan: [goesOn] }
    const loss = acceptLoss ? `; ${this.#lossOf(situation, to)}` : ''
    const sentence = `would fail over: ${mode.judge(situation).sentence}${loss}`
    return { done: false, dryRun: true, sentence, plan: mode.stepsOfFailover(situation, to) }
  }

  /**
   * Its volume went back in time, and a person wants what is on it: its word is taken from now on. Whether it leads, or
   * what else is missing, is decided then.
   */
  async #vouchFor(member: MemberId, request: OperationRequest<'failover'>): Promise<OperationResult> {
    const name = instanceOf(member)
    const what = `the volume of ${name} is taken as it is, and what it may have forgotten since it was copied is given up`
    if (request.dryRun)
      return {
        done: false,
        dryRun: true,
        sentence: `would fail over: ${what}`,
        plan: [
          `${name} is believed again, under its own name`,
          'whoever can lead then is decided as after any other failure',
        ],
      }
    await this.#loop.changeNotes((notes) => withoutIncarnations(notes, member))
    return { done: true, dryRun: false, sentence: what }
  }

  /** Without a record a person chooses who leads. */
  async #bootstrap(input: DecisionInput, request: OperationRequest<'failover'>): Promise<OperationResult> {
    const { to, dryRun } = request
    if (to === undefined)
      throw this.#refusal(
        request,
        `no failover: cluster ${input.cluster} has no record, so nobody can be elected; choose who leads with --to, one of ${input.snapshot.instances.map(({ name }) => name).join(', ')}`,
      )
    this.#mustExist(input, to)
    const plan = modeOf(input.spec).planForcedBootstrap(input, to)
    if ('refusal' in plan) throw this.#refusal(request, `no failover: ${plan.refusal}`)
    const asked = plan.asked.map(({ name }) => name).join(', ')
    if (dryRun)
      return {
        done: false,
        dryRun: true,
        sentence: `would make a record in which ${to} leads; given up: ${plan.givenUp}`,
        plan: [
          `${asked} must promise a new epoch`,
          `${to} is committed as primary`,
          'it opens, the others follow; what only they hold is archived, and they are seeded again',
        ],
      }
    const id = this.#world.random.hex(12)
    this.#loop.addRequest({ kind: 'failover', id, to, acceptLoss: true })
    try {
      const recovery = await this.#cluster.ended(answering(id), patienceMs)
      const { record } = this.#loop
      // That its server is dead, or that others are to be seeded first, is another recovery.
      if (record !== undefined && instanceOf(record.primary) === to)
        return { done: true, dryRun: false, sentence: `${to} leads; given up: ${plan.givenUp}` }
      return this.#resultOf(recovery, 'a forced choice of who leads')
    } finally {
      this.#loop.dropRequest(id)
    }
  }

  /** A primary is moved first, unless the outage is wished for. */
  async fence(request: OperationRequest<'fence'>): Promise<OperationResult> {
    const situation = this.#situation()
    this.#mustExist(situation, request.instance)
    const { instance, keepPrimary } = request
    if (isFenced(situation.notes, instance))
      return { done: false, dryRun: request.dryRun, sentence: `${instance} is fenced already` }
    const moves = instance === instanceOf(situation.record.primary) && !keepPrimary
    const away = { from: instance, to: undefined, timeoutMs: undefined, reason: `fence ${instance}` }
    const steps = moves
      ? ['switch over first', `${instance} becomes read-only and offline`]
      : [
          `${instance} becomes read-only and offline${keepPrimary ? ': a deliberate outage, nothing fails over until unfence' : ''}`,
        ]
    if (request.dryRun) {
      if (moves) await this.switchover({ ...away, dryRun: true })
      return { done: false, dryRun: true, sentence: `would fence ${instance}`, plan: steps }
    }
    if (moves) await this.switchover({ ...away, dryRun: false })
    const wallMs = this.#world.clock.wallMs()
    await this.#loop.changeNotes((notes) => ({
      ...notes,
      fenced: [...notes.fenced.filter((fence) => fence.instance !== instance), { instance, keepPrimary, wallMs }],
    }))
    return {
      done: true,
      dryRun: false,
      sentence: this.#said(`${instance} is fenced until: regent unfence ${instance}`),
    }
  }

  async unfence(request: OperationRequest<'unfence'>): Promise<OperationResult> {
    const situation = this.#situation()
    this.#mustExist(situation, request.instance)
    if (!isFenced(situation.notes, request.instance))
      return { done: false, dryRun: request.dryRun, sentence: `${request.instance} is not fenced` }
    if (request.dryRun) return { done: false, dryRun: true, sentence: `would unfence ${request.instance}` }
    await this.#loop.changeNotes((notes) => ({
      ...notes,
      fenced: notes.fenced.filter((fence) => fence.instance !== request.instance),
    }))
    return { done: true, dryRun: false, sentence: `${request.instance} is no longer fenced` }
  }

  async downtime({ instance, forMs, reason, owner, dryRun }: OperationRequest<'downtime'>): Promise<OperationResult> {
    const input = this.#loop.input()
    this.#mustExist(input, instance)
    const downtime = { instance, untilWallMs: input.wallMs + forMs, reason, owner }
    const leads = input.record !== undefined && instanceOf(input.record.primary) === instance
    const note = leads
      ? `; it is the primary: if it fails, another one takes over as ever. Without an interruption: regent switchover`
      : ''
    const sentence = `${instance} ${dryRun ? 'would be' : 'is'} in ${describeDowntime(downtime)}${this.#said(note)}`
    if (dryRun) return { done: false, dryRun: true, sentence }
    await this.#loop.changeNotes((notes) => withDowntime(notes, downtime, input.wallMs))
    return { done: true, dryRun: false, sentence }
  }

  async endDowntime({ instance, dryRun }: OperationRequest<'end-downtime'>): Promise<OperationResult> {
    const input = this.#loop.input()
    const present = downtimeOf(input, instance)
    // One that was scaled away may have left a downtime behind.
    if (present === undefined) this.#mustExist(input, instance)
    if (present === undefined) return { done: false, dryRun, sentence: `${instance} is not in downtime` }
    if (dryRun) return { done: false, dryRun: true, sentence: `would end the ${describeDowntime(present)}` }
    await this.#loop.changeNotes((notes) => withoutDowntime(notes, instance, input.wallMs))
    return { done: true, dryRun: false, sentence: `${instance} is no longer in downtime` }
  }

  async pause(request: OperationRequest<'pause'>): Promise<OperationResult> {
    if (request.dryRun)
      return { done: false, dryRun: true, sentence: 'would pause: nothing is decided automatically until resumed' }
    const paused: Pause = { reason: request.reason || 'by a person', wallMs: this.#world.clock.wallMs(), by: 'person' }
    await this.#loop.changeNotes((notes) => ({ ...notes, paused }))
    return { done: true, dryRun: false, sentence: 'paused: nothing is decided automatically; agents keep what is safe' }
  }

  async resume(request: OperationRequest<'resume'>): Promise<OperationResult> {
    if (request.dryRun) return { done: false, dryRun: true, sentence: 'would resume' }
    await this.#loop.changeNotes((notes) => ({ ...notes, paused: null }))
    return { done: true, dryRun: false, sentence: 'resumed' }
  }

  /** Returns once it is begun; topology shows how far it is. */
  async scale(request: OperationRequest<'scale'>): Promise<OperationResult> {
    const situation = this.#situation()
    if (situation.notes.paused)
      throw this.#refusal(
        request,
        `no scaling to ${request.instances}: the cluster is paused (${situation.notes.paused.reason}); regent resume first`,
      )
    const plan = planScale(situation, request.instances, modeOf(situation.spec))
    if ('refusal' in plan) throw this.#refusal(request, `no scaling to ${request.instances}: ${plan.refusal}`)
    const steps = [...plan.steps, ...protectionAfter(request.instances)]
    if (request.dryRun)
      return {
        done: false,
        dryRun: true,
        sentence: `would scale to ${counted(request.instances, 'instance')}`,
        plan: steps,
      }
    if (this.#platform.wish) await this.#platform.wish(request.instances)
    else await this.#loop.changeNotes((notes) => ({ ...notes, instances: request.instances }))
    return {
      done: true,
      dryRun: false,
      sentence: `scaling to ${counted(request.instances, 'instance')} has begun`,
      plan: steps,
    }
  }

  /** Returns once its pod and volume are on their way out; topology shows how the new one is seeded. */
  async replace(request: OperationRequest<'replace'>): Promise<OperationResult> {
    const { instance, acceptLoss, dryRun } = request
    const situation = this.#situation()
    this.#mustExist(situation, instance)
    const { cluster } = situation
    if (!this.#platform.replace)
      throw new RegentError(
        'REGENT_REFUSED',
        `no replacement of ${instance}: nothing where ${cluster} runs can make a volume anew`,
      )
    const plan = planReplace(situation, instance, acceptLoss)
    if ('refusal' in plan) throw this.#refusal(request, `no replacement of ${instance}: ${plan.refusal}`)
    const loss = plan.loss === '' ? '' : `; accepted: ${plan.loss}`
    if (dryRun)
      return {
        done: false,
        dryRun: true,
        sentence: `would give up ${instance} with its volume${loss}`,
        plan: plan.steps,
      }
    const member = viewNamed(situation.snapshot, instance)?.observation?.member
    const takeBack = member && this.#loop.giveUp(member)
    try {
      await this.#platform.replace(instance, plan.isSilent)
    } catch (error) {
      takeBack?.()
      throw error
    }
    return { done: true, dryRun: false, sentence: `${instance} is given up with its volume${loss}`, plan: plan.steps }
  }

  /** The sentence, with the commands of the place where the cluster is. */
  #said(sentence: string): string {
    return inPlace(sentence, this.#place)
  }

  /** A dry run only asks: nobody else is told. */
  #refusal({ dryRun }: { readonly dryRun: boolean }, sentence: string): RegentError {
    const said = this.#said(this.#withWayOut(sentence))
    if (!dryRun) this.#cluster.declined(said)
    return new RegentError('REGENT_REFUSED', said)
  }

  /** Who is refused while the cluster takes no writes hears what ends that, unless it was said. */
  #withWayOut(sentence: string): string {
    const found = wayOut(this.#loop.input())
    const isSaid = found === null || (found.command !== null && sentence.includes(inWords(found.command)))
    return isSaid || sentence.includes(found.sentence) ? sentence : `${sentence}; ${found.sentence}`
  }

  #situation(): Situation {
    const input = this.#loop.input()
    if (input.record === undefined)
      throw new RegentError(
        'REGENT_REFUSED',
        `cluster ${input.cluster} has no primary yet: ${this.#loop.decision?.sentence ?? 'it is starting'}`,
      )
    return { ...input, record: input.record }
  }

  /** Who asks while another one is under way would hear how that one ends. */
  #mustBeAlone(kind: Request['kind'], request: { readonly dryRun: boolean }, { requests }: DecisionInput): void {
    if (requests.some((other) => other.kind === kind))
      throw this.#refusal(request, `no ${kind}: another one was asked for and has not ended`)
  }

  #mustExist({ snapshot }: DecisionInput, instance: string): void {
    const known = snapshot.instances.map(({ name }) => name)
    if (!known.includes(instance))
      throw new RegentError('REGENT_NOT_FOUND', `there is no instance ${instance}; there are ${known.join(', ')}`)
  }

  #lossOf(situation: Situation, to: InstanceName | null): string {
    const known = modeOf(situation.spec).lossOfFailover?.(situation, to)
    return known ?? `writes that only ${this.#missing(situation)} hold would be given up`
  }

  #missing(situation: Situation): string {
    const { record, snapshot } = situation
    // A primary that does not take writes yet runs, and is not asked.
    const gone =
      judgePrimary(situation).opening !== undefined && !modeOf(situation.spec).isSafePossible(situation)
        ? [instanceOf(record.primary)]
        : []
    const silent = [record.primary, ...record.syncSet]
      .map(instanceOf)
      .filter(
        (name) =>
          !snapshot.instances.some(
            (view) => view.name === name && view.reachable && view.observation?.process === 'running',
          ),
      )
    return allOf([...gone, ...silent]) || 'nobody'
  }

  #resultOf(recovery: EndedRecovery | undefined, what: string): OperationResult {
    if (recovery === undefined)
      throw new RegentError('REGENT_TIMED_OUT', `${what} has not ended in time: ${this.#loop.decision?.sentence ?? ''}`)
    if (recovery.outcome === 'succeeded')
      return { done: true, dryRun: false, sentence: recovery.sentence, recovery: recovery.id }
    throw new RegentError(
      recovery.timedOut ? 'REGENT_TIMED_OUT' : 'REGENT_REFUSED',
      `${recovery.sentence} (recovery ${recovery.id})`,
    )
  }
}

/** One that was under way before, or comes of itself, answers somebody else. */
function answering(request: string): (recovery: EndedRecovery) => boolean {
  return ({ requests }) => requests.includes(request)
}

/** With nobody left to copy to, what is promised elsewhere ends; whoever asks for that hears it before. */
function protectionAfter(instances: number): readonly string[] {
  return instances === 1
    ? [
        'protection ends: one instance has nobody to fail over to, and its volume holds the only copy; "2" is the least that survives the loss of one',
      ]
    : []
}
