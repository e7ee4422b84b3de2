import { RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import type { Maintenance } from '#failover/protocol/annotations.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import { keyText } from '../documents/key.ts'
import { moment } from '../documents/moment.ts'
import type { Cluster, Server } from '../fleet/fleet.ts'
import { shown } from '../fleet/hints.ts'
import { maintenanceMs, maintenanceOf, maintenancesAt, whyHeld, withMaintenances } from '../fleet/maintenance.ts'
import { ok, oneLine, plain, refused, type Answer } from './answers.ts'
import type { Call, Route } from './route.ts'

/** Clocks may stand: no two have the same number all the same. */
let lastId = 0

function nextId(call: Call, wallMs: number): number {
  const known = held(call).map(({ maintenance }) => maintenance.id)
  return (lastId = Math.max(Math.floor(wallMs), lastId + 1, ...known.map((id) => id + 1)))
}

/** A server in maintenance is refused to every caller: as at orchestrator, to its owner, too. */
async function beginMaintenance(call: Call): Promise<Answer> {
  const { server } = call
  const { cluster } = server
  const [owner, reason] = [call.said('owner'), call.said('reason')]
  if (owner === '' || reason === '') return refused('Maintenance: owner and reason must both be given')
  // A change that is under way has begun with this server as it was: it ends first.
  return cluster.isWatched ? call.turns.inTurn(cluster.name, () => begin(call, server)) : begin(call, server)
}

async function begin(call: Call, { name, key, cluster }: Server): Promise<Answer> {
  const wallMs = wallNow(call, cluster)
  const reason = call.said('reason')
  const begun: Maintenance = {
    id: nextId(call, wallMs),
    owner: oneLine(call.said('owner'), 100),
    reason: oneLine(reason, 200),
    beganWallMs: wallMs,
    untilWallMs: wallMs + maintenanceMs,
  }
  await call.clusters.annotate(cluster.name, (said) => {
    const now = maintenancesAt(said, wallMs)
    if (Object.hasOwn(now, name))
      throw new RegentError('REGENT_REFUSED', say`${reported(whyHeld(key, shown(reason)))}`, { remedy: '' })
    return withMaintenances(said, { ...now, [name]: begun })
  })
  return ok(`Maintenance begun: ${keyText(key)}`, key)
}

/** A call that waited for its turn comes later than it was made. */
function wallNow(call: Call, { name, known }: Cluster): number {
  return call.clusters.known().find((each) => each.name === name)?.wallMs ?? known.wallMs
}

async function endMaintenance(call: Call): Promise<Answer> {
  const { server } = call
  await end(call, server.cluster, (name) => name === server.name)
  return ok(`Maintenance ended: ${keyText(server.key)}`, server.key)
}

async function endByNumber(call: Call): Promise<Answer> {
  const said = call.param('maintenanceKey')
  if (!/^\d{1,15}$/.test(said)) return refused(`end-maintenance: ${shown(said)} is no number of a maintenance`)
  const id = Number(said)
  for (const { server, maintenance } of held(call))
    if (maintenance.id === id) await end(call, server.cluster, (_, each) => each.id === id)
  return ok(`Maintenance ended: ${id}`, id)
}

/** Nothing is written where nothing is held. */
async function end(
  call: Call,
  { name, known }: Cluster,
  isMeant: (name: InstanceName, maintenance: Maintenance) => boolean,
): Promise<void> {
  if (known.notes.annotations?.maintenances === undefined) return
  await call.clusters.annotate(name, (said) => {
    const left = Object.entries(maintenancesAt(said, known.wallMs)).filter((entry) => !isMeant(...entry))
    return withMaintenances(said, Object.fromEntries(left))
  })
}

/** Everything that is in maintenance, also where somebody wants it forgotten. */
function held(call: Call): readonly { readonly server: Server; readonly maintenance: Maintenance }[] {
  return call.wholeFleet
    .flatMap(({ servers }) => servers)
    .flatMap((server) => {
      const maintenance = maintenanceOf(server)
      return maintenance === undefined ? [] : [{ server, maintenance }]
    })
    .toSorted((one, other) => one.maintenance.id - other.maintenance.id)
}

function inMaintenance(call: Call): Answer {
  const { server } = call
  const isHeld = maintenanceOf(server) !== undefined
  return ok(String(isHeld), isHeld ? keyText(server.key) : '')
}

function maintenances(call: Call): Answer {
  return plain(
    held(call).map(({ server, maintenance: { id, owner, reason, beganWallMs } }) => ({
      MaintenanceId: id,
      Key: server.key,
      BeginTimestamp: moment(beganWallMs),
      SecondsElapsed: Math.max(0, Math.floor((server.cluster.known.wallMs - beganWallMs) / 1_000)),
      IsActive: true,
      Owner: owner,
      Reason: reason,
    })),
  )
}

const goesOn =
  'who follows whom is in the record: switchovers and failovers go on all the same. Calls are for begin-downtime'

export const maintainingRoutes: readonly Route[] = [
  {
    path: 'begin-maintenance/:host/:port/:owner/:reason',
    does: 'keeps everybody else from doing the same for ten minutes; replication-analysis leaves that server out',
    differs: goesOn,
    watched:
      'waits for a change that is under way; then that server is not moved, nor are replicas from below it one ' +
      'step up. Refused is what orchestrator refuses, and a failover goes on all the same',
    changes: true,
    answer: beginMaintenance,
  },
  {
    path: 'end-maintenance/:host/:port',
    does: 'ends that, whoever began it',
    changes: true,
    answer: endMaintenance,
  },
  {
    path: 'end-maintenance/:maintenanceKey',
    does: 'the same by the number in maintenance',
    changes: true,
    answer: endByNumber,
  },
  { path: 'in-maintenance/:host/:port', does: 'whether a server is in maintenance', answer: inMaintenance },
  { path: 'maintenance', does: 'servers in maintenance, each with its number', answer: maintenances },
]
