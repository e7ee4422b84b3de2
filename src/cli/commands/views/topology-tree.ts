import { hostPort } from '#common/text/host-port.ts'
import type { ClusterView, InstanceRow, TopologyView, TreeNode } from '#api-contract/views.ts'
import { describeDowntime } from '#failover/judge/downtime.ts'
import { describeBackup, describeRehearsal } from '#topology/snapshot/copies.ts'
import type { Paint } from '#cli/terminal/paint.ts'

/**
 * A cluster as a tree that can be read in two seconds: whether it takes writes first, then the primary with who follows
 * whom, and under each instance what is wrong with it in words.
 */
export function renderTopology(view: TopologyView, paint: Paint): readonly string[] {
  const placed = placeAll(view)
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(0, ...placed.map((one) => cellsOf(one)[column]?.length ?? 0)))
  return [
    headline(view, paint),
    '',
    ...placed.flatMap((one) => renderRow(one, widths, paint)),
    '',
    view.blocked ? paint.red(view.sentence) : view.sentence,
    ...writesLines(view),
    ...routerLines(view),
  ]
}

/** The one address, and where it leads. */
export function routerLines({ router }: Pick<TopologyView, 'router'>): readonly string[] {
  if (router === undefined) return []
  const { host, writePort, readPort, sentence } = router
  return [`router ${host}, port ${writePort} for writes, ${readPort} for reads: ${sentence}`]
}

/** `demo  semisync  epoch 3  WRITABLE  primary demo-1`. */
function headline(view: TopologyView, paint: Paint): string {
  const state = writability(view, paint)
  const primary = view.primary === null ? paint.red('no primary') : `primary ${paint.bold(view.primary)}`
  if (view.watched) return [paint.bold(view.name), view.mode, paint.dim('only watched'), state, primary].join('  ')
  const sync = view.acksWanted > view.syncSet.length ? paint.red(acknowledgements(view)) : acknowledgements(view)
  const protection = view.group === undefined ? [sync] : membership(view.group, paint)
  const marks = [
    ...(view.paused ? [paint.yellow('PAUSED')] : []),
    ...(view.durability === 'available' ? [paint.yellow('durability available')] : []),
  ]
  return [paint.bold(view.name), view.mode, `epoch ${view.epoch}`, state, primary, ...protection, ...marks].join('  ')
}

/** What is to be done where it takes no writes. Where that is not known: why, and what to do in the worse case. */
export function writesLines({
  wayOut,
  writableUnknown,
}: Pick<TopologyView, 'wayOut' | 'writableUnknown'>): readonly string[] {
  const when = writableUnknown === undefined ? 'to take writes again' : 'if it takes no writes'
  return [
    ...(writableUnknown === undefined ? [] : [writableUnknown.sentence]),
    ...(wayOut === undefined ? [] : [`${when}: ${wayOut}`]),
  ]
}

function writability({ writable }: TopologyView, paint: Paint): string {
  if (writable === null) return paint.yellow(paint.bold('WRITES NOT KNOWN'))
  return writable ? paint.green(paint.bold('WRITABLE')) : paint.red(paint.bold('NOT WRITABLE'))
}

const conditions: Readonly<Record<NonNullable<ClusterView['group']>['condition'], string>> = {
  online: '',
  partial: '',
  noQuorum: 'no majority',
  outage: 'nobody is in the group',
  uncertain: 'nobody who answers is in the group',
  splitBrain: 'TWO GROUPS',
}

/** `3 of 3 members online, 1 may be lost  view 17640:5`. */
function membership(group: NonNullable<ClusterView['group']>, paint: Paint): readonly string[] {
  const wrong = conditions[group.condition]
  if (wrong !== '') return [paint.red(wrong)]
  const online = `${group.online} of ${group.expected} ${group.expected === 1 ? 'member' : 'members'} online`
  const words = `${online}, ${group.mayBeLost === 0 ? 'none' : group.mayBeLost} may be lost`
  const view = group.viewId === null ? [] : [paint.dim(`view ${group.viewId}`)]
  return [group.mayBeLost === 0 || group.online < group.expected ? paint.yellow(words) : words, ...view]
}

function acknowledgements(view: TopologyView): string {
  return view.acks === 0 && view.acksWanted === 0
    ? 'not protected'
    : `sync set ${view.syncSet.length}, ${view.acksWanted} needed`
}

/** A row with the branches before its name, and what stands before its problems. */
interface Placed {
  readonly row: InstanceRow
  readonly branches: string
  readonly below: string
}

/** The tree's rows from top to bottom, then instances that are in no tree. An instance in a circle is placed once. */
function placeAll(view: TopologyView): readonly Placed[] {
  const rest = new Map(view.instances.map((row) => [row.name, row]))
  const place = (node: TreeNode, before: string, branch: string): readonly Placed[] => {
    const row = rest.get(node.name)
    if (row === undefined) return []
    rest.delete(node.name)
    const below = before + (branch === '├─ ' ? '│  ' : branch === '' ? '' : '   ')
    const replicas = node.replicas.flatMap((replica, at) =>
      place(replica, below, at === node.replicas.length - 1 ? '└─ ' : '├─ '),
    )
    return [{ row, branches: before + branch, below: below + (replicas.length > 0 ? '│ ' : '  ') }, ...replicas]
  }
  const inTrees = view.tree.flatMap((root) => place(root, '', ''))
  return [...inTrees, ...[...rest.values()].map((row) => ({ row, branches: '', below: '  ' }))]
}

/** Name, role, state, whether it counts, how far behind it is. */
function cellsOf({ row, branches }: Placed): readonly string[] {
  if (row.group !== undefined) return [branches + row.name, ...memberCells(row, row.group)]
  const counts = row.role !== 'replica' || row.watch !== undefined ? '' : row.inSyncSet ? 'in sync set' : 'not counted'
  return [branches + row.name, row.role, stateOf(row).words, counts, lagOf(row)]
}

type Member = NonNullable<InstanceRow['group']>

/** As the group sees it: role, state of the member, and what it has yet to do. */
function memberCells(row: InstanceRow, member: Member): readonly string[] {
  const role = member.role === null ? (row.role === 'none' ? 'none' : 'member') : member.role.toLowerCase()
  return [role, stateOf(row).words, member.state ?? 'unknown', workOf(row, member)]
}

function workOf(row: InstanceRow, { certifying, applying, lacks, state }: Member): string {
  if (row.process !== 'running' || !row.reachable || certifying === null || applying === null) return ''
  if (state === 'RECOVERING') return lacks === null ? '' : `lacks ${lacks}`
  const behind = row.lagSeconds === null ? '' : `, ${row.lagSeconds} s behind`
  return state === 'ONLINE' ? `${certifying} to certify, ${applying} to apply${behind}` : ''
}

/** Nothing for a server that does not run: its last words about lag are old. */
function lagOf(row: InstanceRow): string {
  if (row.role !== 'replica' || row.process !== 'running' || !row.reachable) return ''
  const backlog = row.backlog !== null && row.backlog > 0 ? `, ${row.backlog} to apply` : ''
  return `lag ${row.lagSeconds === null ? '–' : `${row.lagSeconds} s`}${backlog}`
}

function renderRow(placed: Placed, widths: readonly number[], paint: Paint): readonly string[] {
  const { row } = placed
  const padded = cellsOf(placed).map((cell, column) => cell.padEnd(widths[column] ?? 0))
  const plain = (text: string) => text
  const colours = [
    row.role === 'primary' ? paint.bold : plain,
    plain,
    { good: plain, doubtful: paint.yellow, bad: paint.red }[stateOf(row).level],
    plain,
    plain,
  ]
  const address = paint.dim(`${hostPort(row.host, row.port)}${row.version === null ? '' : `  ${row.version}`}`)
  const line = [...padded.map((cell, column) => (colours[column] ?? plain)(cell)), address].join('  ')
  const mark = row.downtime === undefined ? paint.red('!') : paint.yellow('·')
  const downtime =
    row.downtime === undefined ? [] : [`${placed.below}  ${mark} ${String(describeDowntime(row.downtime))}`]
  return [
    line,
    ...downtime,
    ...backupLines(placed, paint),
    ...rehearsalLines(placed, paint),
    ...row.problems.map(({ sentence }) => `${placed.below}  ${mark} ${sentence}`),
  ]
}

/** A backup that is being made, or failed. A backup that is made is in the list of backups. */
function backupLines({ row: { backup }, below }: Placed, paint: Paint): readonly string[] {
  if (backup === undefined || backup.stage === 'done') return []
  const mark = backup.stage === 'failed' ? paint.red('!') : '·'
  return [`${below}  ${mark} ${String(describeBackup(backup))}`]
}

/** What came of one that is done stands beside the backup. */
function rehearsalLines({ row: { rehearsal }, below }: Placed, paint: Paint): readonly string[] {
  if (rehearsal === undefined || rehearsal.stage === 'done') return []
  const mark = rehearsal.stage === 'failed' ? paint.red('!') : '·'
  return [`${below}  ${mark} ${String(describeRehearsal(rehearsal))}`]
}

interface StateWords {
  readonly level: 'good' | 'doubtful' | 'bad'
  readonly words: string
}

/** The one thing about an instance that matters most. */
export function stateOf(row: InstanceRow): StateWords {
  if (row.watch !== undefined && row.watch.reach !== 'answers') return { level: 'bad', words: reaches[row.watch.reach] }
  if (row.fenced) return { level: 'doubtful', words: 'fenced' }
  if (!row.reachable) return { level: 'bad', words: 'agent not heard' }
  if (row.process !== 'running') return processWords(row)
  if (row.role === 'none') return { level: 'doubtful', words: 'no role yet' }
  return serverWords(row)
}

const reaches: Readonly<Record<Exclude<NonNullable<InstanceRow['watch']>['reach'], 'answers'>, string>> = {
  unknown: 'not looked at yet',
  full: 'too many connections',
  lockedOut: 'refuses the account',
  refused: 'nobody listens',
  silent: 'does not answer',
  unresolved: 'has no address',
  noMysql: 'no MySQL',
  unasked: 'cannot be asked',
}

function serverWords(row: InstanceRow): StateWords {
  if (row.offline === true) return { level: row.role === 'primary' ? 'bad' : 'doubtful', words: 'offline' }
  if (row.role === 'primary')
    return row.readOnly === false ? { level: 'good', words: 'writable' } : { level: 'bad', words: 'read-only' }
  if (row.downtime !== undefined && row.problems.length > 0) return { level: 'doubtful', words: 'downtime' }
  if (row.behind) return { level: 'doubtful', words: 'behind' }
  return row.problems.length === 0 ? { level: 'good', words: 'ok' } : { level: 'doubtful', words: 'ailing' }
}

function processWords(row: InstanceRow): StateWords {
  const words: Readonly<Record<string, string>> = {
    absent: 'mysqld not started',
    starting: 'mysqld starting',
    stopped: 'mysqld frozen',
    exiting: 'mysqld ending',
    dead: 'mysqld dead',
    unknown: 'never heard',
  }
  return { level: row.process === 'starting' ? 'doubtful' : 'bad', words: words[row.process] ?? row.process }
}
