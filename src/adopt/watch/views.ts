import type { ClusterView, InstanceRow, TopologyView, TreeNode } from '#api-contract/views.ts'
import { downtimeOf } from '#failover/judge/downtime.ts'
import type { ClusterNotes } from '#failover/protocol/notes.ts'
import type { ProblemBook } from '#manager/clusters/problem-book.ts'
import { unappliedOf } from '#topology/snapshot/holdings.ts'
import { isBehind } from '#topology/snapshot/lag.ts'
import type { ReplicationNode } from '#topology/snapshot/replication-tree.ts'
import type { Adoption } from '../adoption.ts'
import type { Judgement } from './judge.ts'
import type { SeenChannel } from '../servers/seen.ts'
import { channelOf } from './links.ts'
import { answers, type Look } from './look.ts'
import { reachInFull } from './primary.ts'

/** What a view is made of. */
export interface Seen {
  readonly adoption: Adoption
  readonly looks: readonly Look[]
  readonly judgement: Judgement
  readonly problems: ProblemBook
  readonly wallMs: number
  readonly notes: ClusterNotes
}

/** A cluster that is only watched, in the shape of all clusters: there is no record, no epoch and no sync set. */
export function watchedView(seen: Seen): ClusterView {
  const { adoption, looks, judgement, problems, wallMs } = seen
  const { primary, writable, sentence, kind, analyses } = judgement
  const wrong = analyses.map(({ code, instance, sentence }) => ({ code, instance, sentence: String(sentence) }))
  return {
    ...{ name: adoption.cluster, mode: adoption.mode, durability: 'strict', watched: true },
    ...{ epoch: 0, revision: 0, primary, writable },
    ...(writable === null
      ? { writableUnknown: { likely: kind === 'alive' || kind === 'unreachable', sentence: String(sentence) } }
      : {}),
    ...{ syncSet: [], acks: 0, acksWanted: 0, condition: null },
    ...{ sentence: String(sentence), news: sentence.news },
    blocked: kind === 'dead' || kind === 'unreachable' || kind === 'none',
    paused: seen.notes.paused !== null,
    whole: writable === true && analyses.length === 0,
    problems: problems.note(wrong, wallMs),
    instances: looks.map((look) => rowOf(look, seen)),
  }
}

export function watchedTopology(seen: Seen): TopologyView {
  return { ...watchedView(seen), tree: seen.judgement.tree.roots.map(nodeOf) }
}

function nodeOf({ instance, followers }: ReplicationNode): TreeNode {
  return { name: instance, replicas: followers.map(nodeOf) }
}

function rowOf(look: Look, seen: Seen): InstanceRow {
  const { looks, judgement, adoption } = seen
  const { host } = look
  const downtime = downtimeOf(seen, host.instance)
  const channel = channelOf(look, looks)
  const isPrimary = host.instance === judgement.primary
  return {
    ...{ name: host.instance, host: host.host, port: host.port },
    role: isPrimary ? 'primary' : channel === undefined ? 'none' : 'replica',
    ...{ process: answers(look) ? 'running' : 'unknown', reachable: answers(look), inSyncSet: false, fenced: false },
    ...lagFields(look, channel, adoption),
    ...serverFields(look),
    ...(downtime && {
      downtime: { untilWallMs: downtime.untilWallMs, reason: downtime.reason, owner: downtime.owner },
    }),
    problems: judgement.analyses
      .filter(({ instance }) => instance === host.instance)
      .map(({ code, sentence }) => ({ code, sentence: String(sentence) })),
  }
}

function lagFields(
  { server }: Look,
  channel: SeenChannel | undefined,
  { maxLagSeconds }: Adoption,
): Pick<InstanceRow, 'lagSeconds' | 'backlog' | 'behind'> {
  if (channel === undefined || server === null) return { lagSeconds: null, backlog: null, behind: false }
  const { received, lagSeconds } = channel
  const backlog = unappliedOf({ received, executed: server.executed }).count()
  return { lagSeconds, backlog, behind: isBehind({ lagSeconds, backlogTransactions: backlog }, maxLagSeconds) }
}

function serverFields(
  look: Look,
): Pick<InstanceRow, 'acknowledging' | 'readOnly' | 'offline' | 'version' | 'executed' | 'watch'> {
  const { server, reach } = look
  const words = String(reachInFull(look))
  const watch = { reach: reach ?? 'unknown', words, dialect: server?.dialect.name ?? null } as const
  if (server === null)
    return { acknowledging: false, readOnly: null, offline: null, version: null, executed: null, watch }
  const { semiSyncReplica, readOnly, offline, version, executed } = server
  return { acknowledging: semiSyncReplica, readOnly, offline, version, executed, watch }
}
