import { backupTaskText } from '#failover/protocol/backup-task.ts'
import type { Addressed } from '#failover/protocol/message.ts'
import type { Answers, LeaderWord, LeaseVote, LeaseVoteRequest, Word, WordName } from '#failover/protocol/word.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say, type Sayable } from '#common/sentence/sentence.ts'
import { memberId } from '#topology/snapshot/member.ts'
import type { BackUp } from '../backup/back-up.ts'
import type { HoleCloser } from '../backup/archive/hole-closer.ts'
import type { Rehearsing } from '../backup/rehearsal/rehearsing.ts'
import type { StoreReader } from '../backup/store-reader.ts'
import { hearQuestion } from '../doubts/compared.ts'
import { hearOfForgetful } from '../doubts/forgetful.ts'
import type { Lease } from '../guard/lease.ts'
import { hearLeaving } from '../instance/leaving.ts'
import { learn, type Learner } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'
import { noteUsed, backupPlaceOf } from '../instance/used-stores.ts'
import type { Watches } from '#common/watch/watches.ts'
import { giveTail, giveTailPart } from '../salvage/giving.ts'
import { requireAddressee } from './checks.ts'

/** Parts of an agent that words reach. */
export interface Ears {
  readonly parts: Parts
  readonly lease: Lease
  readonly watches: Watches
  readonly backUp: Pick<BackUp, 'begin'>
  readonly rehearsing: Pick<Rehearsing, 'begin'>
  readonly holeCloser: Pick<HoleCloser, 'begin'>
  readonly storeReader: Pick<StoreReader, 'backups' | 'window' | 'find'>
  /** A caller of a peer has a wish about this instance: whoever ends it may come next. */
  readonly heardOfLeaving: () => void
}

/** What an agent does on each word of `failover/protocol/word.ts`, and what the agent answers. */
export const hearing: { readonly [N in WordName]: (ears: Ears, said: Word<N>) => Answers[N] | Promise<Answers[N]> } = {
  lease({ parts, lease }, confirmation) {
    hearLeader(parts, 'lease', confirmation)
    lease.confirmedByManager(confirmation)
    return {}
  },
  word({ parts }, said) {
    hearLeader(parts, 'word', said)
    if (said.compare !== undefined) hearQuestion(parts, said.compare)
    return {}
  },
  answer({ parts }, answer) {
    requireForHere(parts, 'answer', answer)
    parts.asks.answer(answer.id, answer)
    return {}
  },
  leaving({ parts, heardOfLeaving }, { cluster, instance, leaves }) {
    const { config } = parts
    heardOfLeaving()
    if (cluster !== config.cluster || instance !== config.instance)
      throw new RegentError(
        'REGENT_WRONG_MEMBER',
        say`meant for ${instance} of cluster ${cluster}; this is ${config.instance} of cluster ${config.cluster}`,
      )
    return hearLeaving(parts, leaves)
  },
  restart({ parts, heardOfLeaving }, said) {
    requireForHere(parts, 'restart', said)
    const { config, process } = parts
    if (process.isClosedBySql === true || (config.far !== undefined && config.far.start === undefined))
      throw new RegentError(
        'REGENT_FAR_CANNOT',
        say`Regent could stop mysqld at the host of ${config.instance}, and has no command that starts mysqld there`,
      )
    heardOfLeaving()
    learn(parts, { fact: 'restartAsked', restartsUntilMs: parts.world.clock.monotonicMs() + said.withinMs })
    return {}
  },
  leaseVote: ({ parts }, request) => vote(parts, request),
  backUp({ parts, backUp }, said) {
    requireForHere(parts, 'backUp', said)
    backUp.begin(said)
    return {}
  },
  rehearse({ parts, rehearsing }, said) {
    requireForHere(parts, 'rehearse', said)
    rehearsing.begin(said)
    return {}
  },
  closeHole({ parts, holeCloser }, said) {
    requireForHere(parts, 'closeHole', said)
    holeCloser.begin(said)
    return {}
  },
  tail({ parts }, said) {
    requireForHere(parts, 'tail', said)
    return giveTail(parts, said)
  },
  tailPart({ parts }, said) {
    requireForHere(parts, 'tailPart', said)
    return giveTailPart(parts, said)
  },
  backups({ parts }, said) {
    requireForHere(parts, 'backups', said)
    return hearOfBackups(parts, said)
  },
  storedBackups({ parts, storeReader }, asked) {
    requireForHere(parts, 'storedBackups', asked)
    return storeReader.backups(asked)
  },
  restoreWindow({ parts, storeReader }, asked) {
    requireForHere(parts, 'restoreWindow', asked)
    return storeReader.window(asked)
  },
  findInArchive({ parts, storeReader }, asked) {
    requireForHere(parts, 'findInArchive', asked)
    return storeReader.find(asked)
  },
  watches({ parts, watches }, { cluster }) {
    requireCluster(parts, cluster, say`a manager of cluster ${cluster} asks what is looked after`)
    return { watches: watches.list(), facts: parts.facts.list, runs: parts.runs.list }
  },
}

/** A manager that leads is there. */
function hearLeader(
  parts: Learner & Pick<Parts, 'changed' | 'config' | 'file' | 'observer' | 'world'>,
  name: WordName,
  said: LeaderWord,
): void {
  requireForHere(parts, name, said)
  learn(parts, { fact: 'leaderHeard', atMs: parts.world.clock.monotonicMs() })
  if (said.forgetful !== undefined) hearOfForgetful(parts, said.forgetful)
}

/** The use of the store is on disk before anything is begun there. */
async function hearOfBackups(
  parts: Learner & Pick<Parts, 'changed' | 'config' | 'file'>,
  said: Word<'backups'>,
): Promise<Answers['backups']> {
  const task = said.task ?? null
  if (task !== null && said.used === true) await noteUsed(parts, backupPlaceOf(parts.config, task))
  if (backupTaskText(task) !== backupTaskText(parts.told.backups)) learn(parts, { fact: 'backupsTold', task })
  parts.changed()
  return {}
}

function requireForHere(
  { config, file }: Pick<Parts, 'config' | 'file'>,
  name: WordName,
  said: Pick<Addressed, 'cluster' | 'member'>,
): void {
  requireAddressee(name, said, {
    cluster: config.cluster,
    member: memberId(config.instance, file.current.volume),
  })
}

function requireCluster({ config }: Pick<Parts, 'config'>, cluster: string, who: Sayable): void {
  if (cluster === config.cluster) return
  throw new RegentError('REGENT_WRONG_MEMBER', say`${who}; this is ${config.instance} of cluster ${config.cluster}`)
}

/** A peer asks whether its epoch may go on. */
function vote(
  parts: Learner & Pick<Parts, 'config' | 'file' | 'observer' | 'world'>,
  request: LeaseVoteRequest,
): LeaseVote {
  const { file, world, observer, jobs } = parts
  const archived = file.current.assignment?.role === 'primary' ? jobs.binlogArchive?.gtids : null
  requireCluster(parts, request.cluster, say`${request.asking} of cluster ${request.cluster} asks for a vote`)
  learn(parts, { fact: 'peerHeard', peer: request.asking, atMs: world.clock.monotonicMs() })
  return {
    granted: file.current.promise <= request.epoch,
    promise: file.current.promise,
    executed: file.current.seeding || file.current.unproven ? null : (observer.server?.executed ?? null),
    ...(archived == null ? {} : { archived }),
  }
}
