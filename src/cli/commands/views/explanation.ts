import type { ExplainView } from '#api-contract/explain-view.ts'
import type { Paint } from '#cli/terminal/paint.ts'
import { routerLines, writesLines } from './topology-tree.ts'

/**
 * The sentence first, then what is said of instances that are not there, what is wrong, what was not chosen or done and
 * why, and the record that all of this follows from.
 */
export function renderExplanation(cluster: string, view: ExplainView, paint: Paint): readonly string[] {
  const severity = { critical: paint.red, warning: paint.yellow, info: paint.dim }
  const sentence = view.blocked ? paint.red(view.sentence) : view.sentence
  return [
    `${paint.bold(cluster)}: ${sentence}`,
    ...writesLines(view),
    ...routerLines(view),
    ...section('why they are not there', view.place ?? []),
    ...section(
      'what is seen',
      view.analyses.map((analysis) => `${severity[analysis.severity](analysis.code)}  ${analysis.sentence}`),
    ),
    ...section('what the agents are at', view.agents ?? []),
    ...section('why not otherwise', view.reasons),
    ...section('the group', view.group === undefined ? [] : groupLines(view.group)),
    ...section('how the servers are spoken to', view.watched?.servers ?? []),
    ...missingSections(view.watched),
    ...section('the record', view.watched === undefined ? recordOf(view) : []),
  ]
}

/** What is missing before servers can be managed, and what else is worth knowing. */
export function missingSections(watched: ExplainView['watched']): readonly string[] {
  return [
    ...section('what is missing before Regent can manage it', watched?.missing ?? []),
    ...section('what is worth knowing', watched?.notes ?? []),
  ]
}

function recordOf({ record }: ExplainView): readonly string[] {
  return record === null
    ? ['there is none: it is made, or made anew, once it is known who holds everything']
    : recordLines(record)
}

export function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', `${title}:`, ...lines.map((line) => `  ${line}`)]
}

function recordLines(record: ShownRecord): readonly string[] {
  const acks =
    record.acksWanted === record.acks ? `${record.acks}` : `${record.acks}, being raised to ${record.acksWanted}`
  const first = `epoch ${record.epoch}, revision ${record.revision}, primary ${record.primary}`
  if (record.group !== undefined) return [first, ...membersOf(record, record.group)]
  return [
    first,
    `sync set: ${record.syncSet.join(', ') || 'nobody'}; a write needs ${acks} of them`,
    ...(record.leaving.length === 0 ? [] : [`leaving the sync set: ${record.leaving.join(', ')}`]),
    ...underWay(record),
  ]
}

type ShownRecord = NonNullable<ExplainView['record']>

/** Members, as they are admitted: who is in the group now the group itself says. */
function membersOf(record: ShownRecord, { name, forming }: NonNullable<ShownRecord['group']>): readonly string[] {
  return [
    `admitted beside the primary: ${record.syncSet.join(', ') || 'nobody'}`,
    ...(record.leaving.length === 0 ? [] : [`leaving the group: ${record.leaving.join(', ')}`]),
    `group ${name}${forming ? ', to be formed by the primary alone' : ''}`,
    ...underWay(record),
  ]
}

function underWay({ intent }: ShownRecord): readonly string[] {
  return intent === null ? [] : [`under way: ${intent.kind} to ${intent.candidate}`]
}

function groupLines(group: NonNullable<ExplainView['group']>): readonly string[] {
  const { online, expected, mayBeLost, primary, viewId, condition } = group
  const majority = viewId === null ? 'no view with a majority' : `view ${viewId}, primary ${primary ?? 'nobody'}`
  const lost = mayBeLost === 0 ? 'none' : String(mayBeLost)
  return [
    `${condition}: ${majority}`,
    `${online} of ${expected} admitted members online; ${lost} of these may be lost at once`,
  ]
}
