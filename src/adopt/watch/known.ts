import { Value } from 'typebox/value'
import { withPromotions } from '#failover/judge/election/promotions.ts'
import type { ClusterNotes } from '#failover/protocol/notes.ts'
import { clusterSpecSchema, type ClusterSpec } from '#failover/protocol/spec.ts'
import { defaultTimings } from '#failover/protocol/timings.ts'
import type { KnownCluster } from '#manager/clusters/cluster-service.ts'
import type { WatchedChannel, WatchedServer } from '#manager/clusters/watched.ts'
import { hostsOf, type Adoption } from '../adoption.ts'
import { errantAt } from './holdings.ts'
import type { Judgement } from './judge.ts'
import { channelOf, snapshotOf, sourceOf } from './links.ts'
import { answers, type AnsweredLook, type Look } from './look.ts'

/** A cluster that is only watched, in the shape in which a manager knows each cluster: without a record. */
export function knownOf(seen: {
  readonly adoption: Adoption
  readonly looks: readonly Look[]
  readonly judgement: Judgement
  readonly notes: ClusterNotes
  readonly nowMs: number
  readonly wallMs: number
}): KnownCluster {
  const { adoption, looks, judgement, notes, nowMs, wallMs } = seen
  const primary = looks.find(({ host }) => host.instance === judgement.primary)
  return {
    name: adoption.cluster,
    snapshot: snapshotOf(adoption.cluster, looks),
    record: undefined,
    spec: withPromotions(specOf(adoption), notes, wallMs),
    ...{ notes, timings: defaultTimings, nowMs, wallMs },
    watched: {
      ...{ primary: judgement.primary, death: judgement.death, doubt: judgement.doubt },
      servers: Object.fromEntries(
        looks.filter(hasAnswered).map((look) => [look.host.instance, serverOf(look, looks, primary)]),
      ),
    },
  }
}

function hasAnswered(look: Look): look is AnsweredLook {
  return look.server !== null
}

function specOf(adoption: Adoption): ClusterSpec {
  const said = hostsOf(adoption).filter(({ promotion }) => promotion !== 'neutral')
  const policies = said.map(({ instance, promotion }) => [instance, { promotion, priority: 0 }])
  const spec = {
    mode: adoption.mode,
    instances: adoption.hosts.length,
    policies: Object.fromEntries(policies) as unknown,
  }
  return Value.Default(clusterSpecSchema, spec) as ClusterSpec
}

function serverOf(look: AnsweredLook, looks: readonly Look[], primary: Look | undefined): WatchedServer {
  const { dialect, serverId, binlogFormat, logBin, logReplicaUpdates, gtidMode, binlog, channels } = look.server
  const channel = channelOf(look, looks)
  return {
    askedMs: look.askedMs,
    ...{ serverId, product: dialect.product, binlogFormat, logBin, logReplicaUpdates, gtidMode, binlog },
    channel: channel === undefined ? null : channelFields(channel),
    channels: channels.length,
    errant: errantOf(look, looks, primary),
    semiSyncReplica: look.server.semiSyncReplica,
    more: look.more ?? null,
  }
}

function channelFields({
  sourceHost,
  sourcePort,
  autoPosition,
  delaySeconds,
  read,
  applied,
}: WatchedChannel): WatchedChannel {
  return { sourceHost, sourcePort, autoPosition, delaySeconds, read, applied }
}

/**
 * Errant transactions are counted against the server's source, or against the primary where the server follows nobody.
 * Two servers that follow each other each have what the other has not got yet: what a server itself wrote counts for
 * nothing there.
 */
function errantOf(look: AnsweredLook, looks: readonly Look[], primary: Look | undefined): string {
  const channel = channelOf(look, looks)
  const source = channel === undefined ? primary : sourceOf(channel, looks)
  if (source === look || !answers(source)) return ''
  const back = channelOf(source, looks)
  const errant = errantAt(look, source)
  const isRing = back !== undefined && sourceOf(back, looks) === look
  return (isRing ? errant.withoutSource(look.server.uuid) : errant).toString()
}
