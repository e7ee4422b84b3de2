import { isSameKey, keyText } from '../documents/key.ts'
import { makeCoMaster } from '../trees/changes.ts'
import {
  moveBelow,
  moveBelowByGtids,
  moveReplicasByGtids,
  moveUp,
  moveUpReplicas,
  relocate,
  relocateReplicas,
  repoint,
  repointReplicas,
} from '../trees/moves.ts'
import { masterOf } from '../trees/tree.ts'
import { ok, type Answer } from './answers.ts'
import {
  asThere,
  byHand,
  no,
  rearrange,
  rearrangeReplicas,
  tree,
  type Rearrangement,
  type ReplicasRearrangement,
} from './rearranging.ts'
import type { Call, Route } from './route.ts'

const noRing =
  'refused, too, where that would make a ring, or the new source has purged what is lacking: orchestrator finds out later'
const withGtids = 'done, with orchestrator’s checks; who follows by GTIDs goes on so, and nobody else has to stand'
const ofPattern = 'pattern= means replicas by their address, with three repetitions at most'
const noPseudo = 'as relocate: there are no pseudo-GTIDs'

interface Move extends Rearrangement {
  readonly watched: string
}

const relocation: Move = {
  plan: relocate,
  said: (one, other) => `Instance ${one} relocated below ${other}`,
  watched: asThere,
}
const matching: Move = { ...relocation, watched: noPseudo }
const byGtids: Move = {
  plan: moveBelowByGtids,
  said: (one, other) => `Instance ${one} moved below ${other} via GTID`,
  watched: `${asThere}; ${noRing}`,
}

/** Below whom a server is to be moved. */
const movesBelow: Readonly<Record<string, Move>> = {
  relocate: relocation,
  'relocate-below': relocation,
  'move-below': {
    plan: moveBelow,
    said: (one, other) => `Instance ${one} moved below ${other}`,
    watched: withGtids,
  },
  'move-equivalent': { ...relocation, watched: 'as relocate: places that are the same in two binlogs are not kept' },
  repoint: {
    plan: repoint,
    said: (one, other) => `Instance ${one} repointed below ${other}`,
    watched: `${asThere}; ${noRing}`,
  },
  match: matching,
  'match-below': matching,
  'move-gtid': byGtids,
  'move-below-gtid': byGtids,
}

const up: Move = { plan: moveUp, said: (one) => `Instance ${one} moved up`, watched: withGtids }

const proves = 'force-master-takeover does that, once it is proven that the master is lost'
const regroups = 'recover and force-master-failover choose one and move the others by one plan, or undo all'

/** Moves of one step, up or across; or what does that in their place. */
const moves: Readonly<Record<string, Move | { readonly instead: string }>> = {
  'move-up': up,
  'match-up': { ...up, watched: 'as move-up: there are no pseudo-GTIDs' },
  'make-co-master': {
    plan: makeCoMaster,
    said: (one) => `Instance made co-master: ${one}`,
    watched:
      'done, with orchestrator’s checks, and refused where the replica has errant GTIDs, which would come to ' +
      'where clients write, or the master follows a server outside of the cluster, also where orchestrator ' +
      'would not know that one; the account is replication of the adoption file',
  },
  'make-master': { instead: proves },
  'make-local-master': { instead: 'recover does that, once the master in the middle is dead' },
  'regroup-replicas': { instead: regroups },
  'regroup-replicas-gtid': { instead: regroups },
  'regroup-replicas-bls': { instead: 'there are no binlog servers' },
  'regroup-replicas-pgtid': { instead: 'there are no pseudo-GTIDs' },
}

/** orchestrator counts one as several, and scripts look for that. */
const many = (count: number, noun: string): string => [count, noun].join(' ')

interface MoveReplicas extends ReplicasRearrangement {
  readonly watched: string
}

const nowhere = 'name the server below which they are to be'

const relocateAll: MoveReplicas = {
  plan: (all, one, other, isMeant) => (other === undefined ? nowhere : relocateReplicas(all, one, other, isMeant)),
  isAllOrError: true,
  said: (count, one, other) => `Relocated ${many(count, 'replicas')} of ${one} below ${other}`,
  watched: `${asThere}; ${ofPattern}`,
}
const moveAllByGtids: MoveReplicas = {
  plan: (all, one, other, isMeant) => (other === undefined ? nowhere : moveReplicasByGtids(all, one, other, isMeant)),
  isAllOrError: true,
  said: (count, one, other) => `Moved ${many(count, 'replicas')} of ${one} below ${other} via GTID`,
  watched: `${asThere}; ${ofPattern}`,
}
const moveAllUp: MoveReplicas = {
  plan: (all, one, _, isMeant) => moveUpReplicas(all, one, isMeant),
  said: (count, one) => `Moved up ${many(count, 'replicas')} of ${one}`,
  watched: `${withGtids}. Each has to replicate without much lag, as for move-up: for one that stands the others would wait in vain; ${ofPattern}`,
}

const replicasMove: Readonly<Record<string, MoveReplicas>> = {
  'relocate-replicas': relocateAll,
  'move-replicas-gtid': moveAllByGtids,
  'match-replicas': { ...relocateAll, watched: 'as relocate-replicas: there are no pseudo-GTIDs' },
  'match-up-replicas': { ...moveAllUp, watched: 'as move-up-replicas: there are no pseudo-GTIDs' },
  'move-up-replicas': moveAllUp,
  'repoint-replicas': {
    plan: repointReplicas,
    said: (count, one) => `Repointed ${many(count, 'replicas')} of ${one}`,
    watched: `${asThere}; ${ofPattern}`,
  },
}

const relocations: readonly Route[] = Object.entries(movesBelow).map(([path, move]) => ({
  path: `${path}/:host/:port/:belowHost/:belowPort`,
  does: 'yes where the tree is so already; otherwise refuses',
  differs: tree,
  watched: move.watched,
  changes: true,
  answer(call) {
    const { server } = call
    const other = call.other('below')
    if (server.cluster.isWatched) return rearrange(call, move)
    return other !== undefined && isSameKey(server.instance.MasterKey, other.instance.Key)
      ? ok(`Instance ${keyText(server.instance.Key)} relocated below ${keyText(other.instance.Key)}`, server.instance)
      : no(path, server, tree)
  },
}))

const movements: readonly Route[] = Object.entries(moves).map(([path, move]) => ({
  path: `${path}/:host/:port`,
  does: 'refuses',
  differs: tree,
  watched: 'plan' in move ? move.watched : byHand(move.instead),
  changes: true,
  answer(call) {
    const { server } = call
    if (!server.cluster.isWatched) return no(path, server, tree)
    return 'plan' in move ? rearrange(call, move) : no(path, server, byHand(move.instead))
  },
}))

/** Without replicas there is nobody to move. */
function moveReplicas(path: string, move: MoveReplicas, call: Call): Answer | Promise<Answer> {
  const { server } = call
  call.other('below')
  if (server.cluster.isWatched) return rearrangeReplicas(call, move)
  return server.instance.Replicas.length === 0
    ? ok(`Relocated 0 replicas of ${keyText(server.instance.Key)}; 0 errors: []`, [])
    : no(path, server, tree)
}

const replicaMovements: readonly Route[] = Object.entries(replicasMove).flatMap(([path, move]) =>
  [`${path}/:host/:port`, `${path}/:host/:port/:belowHost/:belowPort`].map((each) => ({
    path: each,
    does: 'yes where a server has no replicas; otherwise refuses',
    differs: tree,
    watched: move.watched,
    changes: true as const,
    answer: (call: Call) => moveReplicas(path, move, call),
  })),
)

const takeSiblings: Route = {
  path: 'take-siblings/:host/:port',
  does: 'refuses',
  differs: tree,
  watched: asThere,
  changes: true,
  async answer(call) {
    const { server } = call
    if (!server.cluster.isWatched) return no('take-siblings', server, tree)
    const answer = await rearrangeReplicas(call, {
      plan(all, one) {
        const master = masterOf(all, one)
        return master === undefined
          ? `take-siblings: instance ${keyText(one.Key)} is not a replica.`
          : relocateReplicas(all, master, one)
      },
      isAllOrError: true,
      said: (count, one) => `Took ${many(count, 'siblings')} of ${one}`,
    })
    return answer.status === 200 ? withDetails(answer, call.look().server.instance) : answer
  },
}

function withDetails({ status, body }: Answer, details: unknown): Answer {
  return { status, body: { ...(body as object), Details: details } }
}

/** Routes that change which server follows which. */
export const movingRoutes: readonly Route[] = [...relocations, ...movements, ...replicaMovements, takeSiblings]
