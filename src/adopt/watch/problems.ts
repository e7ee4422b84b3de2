import { counted, joined, say, text, type Sentence } from '#common/sentence/sentence.ts'
import { abbreviated, allOf } from '#common/text/words.ts'
import type { Analysis } from '#topology/analysis/analysis.ts'
import { critical, warning } from '#topology/analysis/analysis-input.ts'
import { describeLag, isBehind } from '#topology/snapshot/lag.ts'
import type { ReplicationTree } from '#topology/snapshot/replication-tree.ts'
import { unappliedOf } from '#topology/snapshot/holdings.ts'
import type { SeenChannel } from '../servers/seen.ts'
import { errantAt } from './holdings.ts'
import { channelOf, sourceOf } from './links.ts'
import { answers, type AnsweredLook, type Look } from './look.ts'
import { reachInFull, takesWrites, type PrimaryState } from './primary.ts'

export interface Circumstances {
  readonly looks: readonly Look[]
  readonly tree: ReplicationTree
  readonly maxLagSeconds: number
}

/** What is wrong with the primary, in the words that all clusters have. */
export function problemsOfPrimary(state: PrimaryState, all: Circumstances): readonly Analysis[] {
  if (state.kind === 'none')
    return [critical('NoWritablePrimary', null, say`nobody is the primary: no server is followed by another`)]
  const { instance } = state.look.host
  switch (state.kind) {
    case 'serving':
      return takesWrites(state.look)
        ? []
        : [critical('NoWritablePrimary', instance, say`primary ${instance} takes no writes: read_only is on`)]
    case 'alive':
      return [
        warning(
          state.look.reach === 'full' ? 'TooManyConnections' : 'InstanceUnreachable',
          instance,
          say`primary ${instance}: ${state.why}`,
        ),
      ]
    case 'unreachable':
    case 'unknown':
      return [critical('UnreachablePrimary', instance, say`primary ${instance}: ${state.why}`)]
    case 'dead':
      return [critical(deathCode(state.look, all), instance, say`primary ${instance} is dead: ${state.why}`)]
  }
}

function deathCode(primary: Look, { looks }: Circumstances): 'DeadPrimary' | 'DeadPrimaryAndSomeReplicas' {
  return looks.every((look) => look === primary || answers(look)) ? 'DeadPrimary' : 'DeadPrimaryAndSomeReplicas'
}

/** What is wrong with everybody else, and with the tree. */
export function problemsBeside(state: PrimaryState, all: Circumstances): readonly Analysis[] {
  const primary = state.kind === 'none' ? undefined : state.look
  const others = all.looks.filter((look) => look !== primary)
  return [...ringsIn(all), ...writersBeside(primary, all), ...others.flatMap((look) => problemsOf(look, state, all))]
}

function ringsIn({ tree, looks }: Circumstances): readonly Analysis[] {
  return tree.cycles.map((ring) => {
    const writers = ring.filter((name) => takesWrites(looks.find(({ host }) => host.instance === name)))
    const words = writers.length > 1 ? say`; ${allOf(writers)} take writes, each beside the other` : ''
    return warning('PrimaryHasSource', ring[0] ?? null, say`${allOf(ring)} follow each other in a ring${words}`)
  })
}

function writersBeside(primary: Look | undefined, { looks }: Circumstances): readonly Analysis[] {
  return looks
    .filter((look) => look !== primary && takesWrites(look))
    .map(({ host }) =>
      warning(
        'TwoWritablePrimaries',
        host.instance,
        say`${host.instance} can be written to (read_only is off)${primary === undefined ? '' : say`; only ${primary.host.instance} should`}`,
      ),
    )
}

function problemsOf(look: Look, state: PrimaryState, all: Circumstances): readonly Analysis[] {
  const { instance } = look.host
  if (!answers(look)) return [warning('InstanceUnreachable', instance, say`${instance}: ${reachInFull(look)}`)]
  const { dialect, lacks } = look.server
  if (lacks.includes(dialect.monitor)) {
    const may = say`Regent’s account may not see whom it follows (${dialect.monitor})`
    return [warning('InstanceUnreachable', instance, say`${instance}: ${may}`)]
  }
  const channel = channelOf(look, all.looks)
  if (channel === undefined)
    return [
      warning('ReplicaNotReplicating', instance, say`${instance} follows nobody`),
      // A primary of before that comes back may hold writes that nobody else has.
      ...errantOf(look, state),
    ]
  return [
    ...replicationOf(instance, channel, state, all),
    ...lagOf(look, channel, all),
    ...filterOf(instance, channel),
    ...errantOf(look, state),
  ]
}

function replicationOf(
  instance: string,
  channel: SeenChannel,
  state: PrimaryState,
  { looks }: Circumstances,
): readonly Analysis[] {
  if (sourceOf(channel, looks) === undefined) {
    const source = `${channel.sourceHost}:${channel.sourcePort}`
    return [warning('WrongSource', instance, say`${instance} follows ${source}, which is none of this cluster`)]
  }
  // Without a primary to receive from no receiver can run: that is not the replica's fault.
  const isBlameless = channel.io === 'connecting' && state.kind !== 'serving'
  const why = [
    channel.io === 'yes' || isBlameless ? undefined : stopped('IO', channel.io, channel.ioError),
    channel.sql ? undefined : stopped('SQL', 'no', channel.sqlError),
  ].filter((one) => one !== undefined)
  return why.length === 0
    ? []
    : [warning('ReplicaNotReplicating', instance, say`${instance} does not replicate: ${joined(why, '; ')}`)]
}

function stopped(thread: 'IO' | 'SQL', state: SeenChannel['io'], error: string): Sentence {
  const what = state === 'connecting' ? say`its IO thread cannot connect` : say`its ${thread} thread is stopped`
  return error === '' ? what : say`${what}: ${text(abbreviated(error))}`
}

function lagOf({ host, server }: AnsweredLook, channel: SeenChannel, all: Circumstances): readonly Analysis[] {
  const backlogTransactions = unappliedOf({ received: channel.received, executed: server.executed }).count()
  const lag = { lagSeconds: channel.lagSeconds, backlogTransactions }
  if (host.lagOk || !channel.sql || !isBehind(lag, all.maxLagSeconds)) return []
  return [
    warning(
      'ReplicaLagging',
      host.instance,
      say`${host.instance} is ${describeLag(lag)}; ${all.maxLagSeconds} s are allowed`,
    ),
  ]
}

function filterOf(instance: string, { filtered }: SeenChannel): readonly Analysis[] {
  return filtered
    ? [warning('ReplicationFilter', instance, say`${instance} replicates only a part: a replication filter is set`)]
    : []
}

function errantOf(look: AnsweredLook, state: PrimaryState): readonly Analysis[] {
  if (state.kind !== 'serving') return []
  const errant = errantAt(look, state.look)
  if (errant.isEmpty()) return []
  const [instance, primary] = [look.host.instance, state.look.host.instance]
  const have = counted(errant.count(), 'transaction')
  return [
    warning(
      'ErrantTransactions',
      instance,
      say`${instance} has ${have} that primary ${primary} has not: ${text(abbreviated(errant.toString()))}`,
    ),
  ]
}
