import type { GroupSettings } from '#agents/ports/group.ts'
import { ownMember } from '#topology/group/majority.ts'
import type { MemberState, ServerState } from '#topology/snapshot/observation.ts'
import { endsOf } from '#test/simulation/mysqld/steps/moves.ts'
import type { GroupStage, StagedMember } from './stage.ts'

const groupName = 'c0ffee00-5eed-4a11-8a11-000000000001'
const placeNames = ['one', 'two', 'three', 'four', 'five']

export function settingsFor({ servers }: GroupStage, member: StagedMember): GroupSettings {
  const seeds = servers.filter((other) => other !== member).map(({ address }) => address)
  return { name: groupName, seeds, consistency: 'BEFORE_ON_PRIMARY_FAILOVER' }
}

/** Starts every server. In the order of their uuids: of equal members the smallest is elected. */
export async function startAll(stage: GroupStage): Promise<readonly StagedMember[]> {
  const started = await Promise.all(
    stage.servers.map(async (server) => {
      await server.start()
      return { server, uuid: (await server.port.readState()).uuid }
    }),
  )
  return started.toSorted((one, other) => (one.uuid < other.uuid ? -1 : 1)).map(({ server }) => server)
}

export async function form(stage: GroupStage, member: StagedMember): Promise<void> {
  await member.group.start(settingsFor(stage, member), true)
  await becomes(stage, member, 'ONLINE')
  await member.port.setOffline(false)
}

/** Brings a server into the group, and waits until it has recovered. */
export async function join(stage: GroupStage, member: StagedMember): Promise<void> {
  await member.group.start(settingsFor(stage, member), false)
  await becomes(stage, member, 'ONLINE')
  await member.port.setOffline(false)
}

/** A group of all servers, by uuid: formed by the one at `former`, to which the others came one after the other. */
export async function formOfAll(stage: GroupStage, former = 0): Promise<readonly StagedMember[]> {
  const members = await startAll(stage)
  const first = members[former]
  if (first === undefined) throw new RangeError(`there is no server ${former}`)
  await form(stage, first)
  for (const member of members) if (member !== first) await join(stage, member)
  await stage.until(async () => {
    const views = await Promise.all(members.map((member) => viewOf(members, member)))
    return views.every((view) => view === views[0]) && !views[0]?.includes('RECOVERING')
  }, 'all have the same view')
  return members
}

export async function becomes(stage: GroupStage, member: StagedMember, state: MemberState): Promise<void> {
  await stage.until(async () => (await groupOf(member)).state === state, `${member.name} is ${state}`)
}

/** Waits until `by` shows a view in which `whom` is so; undefined for not at all. */
export async function shows(
  stage: GroupStage,
  by: StagedMember,
  whom: StagedMember,
  state: MemberState | undefined,
): Promise<void> {
  const isSo = async (): Promise<boolean> => (await stateOf(by, whom)) === state
  await stage.until(isSo, `${by.name} shows ${whom.name} as ${state ?? 'gone'}`)
}

export async function stateOf(by: StagedMember, whom: StagedMember): Promise<MemberState | undefined> {
  return (await groupOf(by)).members.find((one) => isSame(one, whom))?.state
}

export async function groupOf({ port }: StagedMember): Promise<NonNullable<ServerState['group']>> {
  const { group } = await port.readState()
  if (group === undefined) throw new TypeError('every server of this stage has the plugin')
  return group
}

function isSame({ host, port }: { readonly host: string; readonly port: number }, { address }: StagedMember): boolean {
  return address === `${host}:${port}`
}

/** What `by` shows of each of these, by their places. */
export async function viewOf(members: readonly StagedMember[], by: StagedMember): Promise<string> {
  const { members: shown } = await groupOf(by)
  return members
    .flatMap((member, at) => {
      const found = shown.find((one) => isSame(one, member))
      return found === undefined ? [] : `${placeNames[at]} ${found.state} ${found.role}`.trim()
    })
    .join(', ')
}

/** Its own state, and to whom it is closed. */
export async function standingOf(member: StagedMember): Promise<string> {
  const state = await member.port.readState()
  const own = state.group && ownMember(state.group, state.uuid)
  const closed = [state.readOnly && 'read-only', state.superReadOnly && 'super', state.offlineMode && 'offline']
  const marks = closed.filter((mark) => mark !== false)
  return [state.group?.state ?? 'no plugin', own?.role ?? '', marks.length === 0 ? 'open' : marks.join(', ')]
    .filter((part) => part !== '')
    .join(' ')
}

/** A write is acknowledged there. */
export async function writes(member: StagedMember, count: number): Promise<string> {
  const heard: string[] = []
  for (let at = 0; at < count; at += 1) heard.push(await endsOf(await member.write()))
  return heard.join(', ')
}

/** Waits until each of these has executed what `source` has. */
export async function haveAll(source: StagedMember, ...members: readonly StagedMember[]): Promise<void> {
  const { executed } = await source.port.readHolds()
  for (const member of members)
    if (!(await member.port.waitExecuted(executed, 10_000))) throw new Error(`${member.name} lacks ${executed}`)
}
