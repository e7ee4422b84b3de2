import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import { keyOf } from '#controller-runtime/objects/objects.ts'
import type { MySQLCluster } from '#kube/spec/mysql-cluster.ts'
import { annotations, fieldManager, namesOf } from '#kube/names/names.ts'
import { oldPasswordsMs, patchOf, rotationIn, wishOf, type PasswordRotation } from '#kube/secrets/password-rotation.ts'
import { secrets, type Secret } from '#kube/secrets/secrets.ts'
import type { PasswordsWish } from '#failover/protocol/order.ts'
import { whyNotAsWished } from '#failover/flows/passwords.ts'
import { isWritable } from '#failover/judge/situation.ts'
import type { ClusterLoop } from '#manager/loop/cluster-loop.ts'
import type { ClusterEvents } from '../status/cluster-events.ts'
import { applySecrets, type ClusterObjectsParts } from './cluster-objects.ts'

export interface RotatePasswordsParts {
  readonly client: KubeClient
  readonly objects: Pick<ClusterObjectsParts, 'client' | 'world'>
  readonly events: Pick<ClusterEvents, 'passwords'>
}

type Loop = Pick<ClusterLoop, 'input' | 'addRequest' | 'dropRequest'>

/** MySQL is looked at again so often while something is under way. */
const soonMs = 2_000
/** And where it takes no writes now, or does not say what it has. */
const laterMs = 20_000
/**
 * And where nothing is under way, but passwords were rotated once: a failover that accepted losses may have lost that.
 */
const steadyMs = 600_000
const requestId = 'passwords'

/**
 * The next step towards the passwords that the resource's annotation asks for: new ones in MySQL at every instance, the
 * old ones accepted too; then in the Secrets; an hour later the old ones end. At no moment is what a Secret shows
 * wrong. Where nothing is asked for it sees to it that MySQL has what the Secrets show: both may have come from
 * elsewhere.
 * @returns after how many milliseconds to look again
 */
export async function rotatePasswords(
  parts: RotatePasswordsParts,
  cluster: MySQLCluster,
  loop: Loop,
  signal: AbortSignal,
): Promise<number> {
  const { client, objects, events } = parts
  const { clock, random } = objects.world
  const internal = await client.get(
    secrets,
    { ...keyOf(cluster), name: namesOf(cluster.metadata.name).internal },
    { signal },
  )
  if (internal === undefined) return laterMs
  const now = rotationIn(internal)
  const asked = newlyAsked(cluster, now)
  if (asked !== undefined && now.next === undefined && now.oldUntilMs === undefined) {
    await client.patch(secrets, keyOf(internal), patchOf({ ...now, asked, next: random.hex(32) }, internal), {
      fieldManager,
      signal,
    })
    events.passwords(
      keyOf(cluster),
      'Began',
      `new passwords for client and admin: first in MySQL, beside the old ones, then in ${shownIn(cluster)}`,
    )
    return soonMs
  }
  const wish = wishOf(now, clock.wallMs())
  const why = whyNotAsWished(loop.input(), wish)
  ask(loop, why === '' ? undefined : wish)
  if (why === '') return goOn(parts, cluster, { internal, wish }, signal)
  if (now.next === undefined && wish.old === 'kept') return laterMs
  events.passwords(keyOf(cluster), 'Waits', String(why))
  return isWritable(loop.input()) ? soonMs : laterMs
}

/** A value of the annotation that was not taken up yet. */
function newlyAsked({ metadata }: MySQLCluster, now: PasswordRotation): string | undefined {
  const { [annotations.rotatePasswords]: asked = '' } = metadata.annotations ?? {}
  return asked === '' || asked === now.asked ? undefined : asked
}

interface Reached {
  readonly internal: Secret
  readonly wish: PasswordsWish
}

/** MySQL is as wished. */
async function goOn(
  parts: RotatePasswordsParts,
  cluster: MySQLCluster,
  { internal, wish }: Reached,
  signal: AbortSignal,
): Promise<number> {
  const { client, objects, events } = parts
  const { clock } = objects.world
  const now = rotationIn(internal)
  if (now.next !== undefined) {
    await show(parts, cluster, { internal, next: now.next }, signal)
    events.passwords(
      keyOf(cluster),
      'Changed',
      `${shownIn(cluster)} have the new passwords; the old ones are accepted for another ${oldPasswordsMs / 60_000} min`,
    )
    return soonMs
  }
  if (wish.old === 'discarded') {
    await client.patch(secrets, keyOf(internal), patchOf({ ...now, oldUntilMs: undefined }, internal), {
      fieldManager,
      signal,
    })
    events.passwords(keyOf(cluster), 'Ended', 'the old passwords are not accepted any more')
    return soonMs
  }
  if (now.oldUntilMs === undefined) return now.generation === '' ? Infinity : steadyMs
  if (newlyAsked(cluster, now) !== undefined)
    events.passwords(
      keyOf(cluster),
      'Waits',
      `the passwords before are accepted until ${new Date(now.oldUntilMs).toISOString()}, and MySQL keeps no more than two`,
    )
  return Math.min(steadyMs, Math.max(soonMs, now.oldUntilMs - clock.wallMs()))
}

/**
 * The Secrets first, and only then is the time of the old passwords counted. A manager that dies in between leaves
 * `next`, and all of it is done again.
 */
async function show(
  { client, objects }: RotatePasswordsParts,
  cluster: MySQLCluster,
  { internal, next }: { readonly internal: Secret; readonly next: string },
  signal: AbortSignal,
): Promise<void> {
  const written = await client.patch(
    secrets,
    keyOf(internal),
    patchOf({ ...rotationIn(internal), generation: next }, internal),
    { fieldManager, signal },
  )
  await applySecrets({ ...objects, yields: false }, cluster, { internal: written, signal })
  const shown = await client.get(secrets, keyOf(internal), { signal })
  if (shown === undefined || rotationIn(shown).next !== next) return
  const oldUntilMs = objects.world.clock.wallMs() + oldPasswordsMs
  await client.patch(secrets, keyOf(shown), patchOf({ ...rotationIn(shown), next: undefined, oldUntilMs }, shown), {
    fieldManager,
    signal,
  })
}

function shownIn({ metadata: { name } }: MySQLCluster): string {
  const { client, admin } = namesOf(name)
  return `Secrets ${client} and ${admin}`
}

/** Only while MySQL differs: what a manager that led once still asks for would be told to MySQL when it leads again. */
function ask(loop: Loop, wish: PasswordsWish | undefined): void {
  const asked = loop.input().requests.find(({ kind }) => kind === 'passwords')
  if (asked?.kind === 'passwords' && asked.generation === wish?.generation && asked.old === wish.old) return
  if (asked !== undefined) loop.dropRequest(asked.id)
  if (wish !== undefined) loop.addRequest({ kind: 'passwords', id: requestId, ...wish })
}

/** When this manager leads no longer. */
export function askForNoPasswords(loop: Pick<ClusterLoop, 'dropRequest'>): void {
  loop.dropRequest(requestId)
}
