import type { InstanceRow, TopologyView, TreeNode } from '../manager/api/views.ts'
import type { Paint } from './paint.ts'

/**
 * A cluster as a tree that can be read in two seconds: whether it takes writes first, then the primary with who follows
 * whom, and under each instance what is wrong with it in words.
 */
export function renderTopology(view: TopologyView, paint: Paint): readonly string[] {
  const rows = new Map(view.instances.map((row) => [row.name, row]))
  const drawn = new Set<string>()
  const lines = view.tree.flatMap((root) => renderNode(root, { rows, paint, drawn, width: widthOf(view) }))
  const missing = view.instances.filter((row) => !drawn.has(row.name)).flatMap((row) => renderRow(row, '', '  ', { paint, width: widthOf(view) }))
  return [headline(view, paint), '', ...lines, ...missing, '', view.blocked ? paint.red(view.sentence) : view.sentence]
}

/** `demo  semisync  epoch 3  WRITABLE  primary demo-1`. */
export function headline(view: TopologyView, paint: Paint): string {
  const state = view.writable ? paint.green(paint.bold('WRITABLE')) : paint.red(paint.bold('NOT WRITABLE'))
  const primary = view.primary === null ? paint.red('no primary') : `primary ${paint.bold(view.primary)}`
  const sync = view.acksWanted > view.syncSet.length ? paint.red(acknowledgements(view)) : acknowledgements(view)
  const marks = [...(view.paused ? [paint.yellow('PAUSED')] : []), ...(view.durability === 'available' ? [paint.yellow('durability available')] : [])]
  return [paint.bold(view.name), view.mode, `epoch ${view.epoch}`, state, primary, sync, ...marks].join('  ')
}

function acknowledgements(view: TopologyView): string {
  return view.acks === 0 && view.acksWanted === 0 ? 'not protected' : `sync set ${view.syncSet.length}, ${view.acksWanted} needed`
}

interface Drawing {
  readonly paint: Paint
  readonly width: number
}

interface TreeDrawing extends Drawing {
  readonly rows: ReadonlyMap<string, InstanceRow>
  /** Names drawn already: a circle of replication must not be drawn for ever. */
  readonly drawn: Set<string>
}

function renderNode(node: TreeNode, drawing: TreeDrawing, before = '', branch = ''): readonly string[] {
  if (drawing.drawn.has(node.name)) return []
  drawing.drawn.add(node.name)
  const row = drawing.rows.get(node.name)
  const below = before + (branch === '├─ ' ? '│  ' : branch === '' ? '' : '   ')
  const hasReplicas = node.replicas.length > 0
  const own = row === undefined ? [`${before}${branch}${node.name}  not an instance of this cluster`] : renderRow(row, before + branch, below + (hasReplicas ? '│ ' : '  '), drawing)
  const replicas = node.replicas.flatMap((replica, at) => renderNode(replica, drawing, below, at === node.replicas.length - 1 ? '└─ ' : '├─ '))
  return [...own, ...replicas]
}

function renderRow(row: InstanceRow, prefix: string, problemPrefix: string, { paint, width }: Drawing): readonly string[] {
  const state = stateOf(row)
  const colour = { good: (text: string) => text, doubtful: paint.yellow, bad: paint.red }[state.level]
  const name = row.role === 'primary' ? paint.bold(row.name) : row.name
  const padding = ' '.repeat(Math.max(0, width - prefix.length - row.name.length))
  const details = [colour(state.words), ...followDetails(row), paint.dim(`${row.host}:${row.port}`), ...(row.version === null ? [] : [paint.dim(row.version)])]
  return [`${prefix}${name}${padding}  ${row.role.padEnd(7)}  ${details.join('  ')}`, ...row.problems.map((problem) => `${problemPrefix}  ${paint.red('!')} ${problem}`)]
}

/** Whether it counts, and how far behind it is. */
function followDetails(row: InstanceRow): readonly string[] {
  if (row.role !== 'replica') return []
  const backlog = row.backlog !== null && row.backlog > 0 ? [`${row.backlog} to apply`] : []
  return [row.inSyncSet ? 'in sync set' : 'not counted', `lag ${row.lagSeconds === null ? '–' : `${row.lagSeconds} s`}`, ...backlog]
}

interface StateWords {
  readonly level: 'good' | 'doubtful' | 'bad'
  readonly words: string
}

/** The one thing about an instance that matters most. */
export function stateOf(row: InstanceRow): StateWords {
  if (row.fenced) return { level: 'doubtful', words: 'fenced' }
  if (!row.reachable) return { level: 'bad', words: 'agent not heard' }
  if (row.process !== 'running') return processWords(row)
  if (row.role === 'none') return { level: 'doubtful', words: 'not a member yet' }
  if (row.offline === true) return { level: row.role === 'primary' ? 'bad' : 'doubtful', words: 'offline' }
  if (row.role === 'primary') return row.readOnly === false ? { level: 'good', words: 'writable' } : { level: 'bad', words: 'read-only' }
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

/** Of the widest name with the branch before it, so that roles stand below each other. */
function widthOf(view: TopologyView): number {
  const depth = (node: TreeNode, level: number): number => Math.max(level * 3 + node.name.length, ...node.replicas.map((replica) => depth(replica, level + 1)))
  return Math.max(...view.tree.map((root) => depth(root, 0)), ...view.instances.map((row) => row.name.length))
}
