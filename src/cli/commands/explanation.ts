import type { ExplainView } from '../../api-contract/explain-view.ts'
import type { Paint } from '../terminal/paint.ts'

/**
 * The sentence first, then what is wrong, then what was not chosen or done and why, then the record it all follows
 * from.
 */
export function renderExplanation(cluster: string, view: ExplainView, paint: Paint): readonly string[] {
  const severity = { critical: paint.red, warning: paint.yellow, info: paint.dim }
  const sentence = view.blocked ? paint.red(view.sentence) : view.sentence
  return [
    `${paint.bold(cluster)}: ${sentence}`,
    ...section(
      'what is seen',
      view.analyses.map((analysis) => `${severity[analysis.severity](analysis.code)}  ${analysis.sentence}`),
    ),
    ...section('why not otherwise', view.reasons),
    ...section(
      'the record',
      view.record === null
        ? ['there is none: it is made, or made anew, once it is known who holds everything']
        : recordLines(view.record),
    ),
  ]
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', `${title}:`, ...lines.map((line) => `  ${line}`)]
}

function recordLines(record: NonNullable<ExplainView['record']>): readonly string[] {
  const acks =
    record.acksWanted === record.acks ? `${record.acks}` : `${record.acks}, being raised to ${record.acksWanted}`
  return [
    `epoch ${record.epoch}, revision ${record.revision}, primary ${record.primary}`,
    `sync set: ${record.syncSet.join(', ') || 'nobody'}; a write needs ${acks} of them`,
    ...(record.leaving.length === 0 ? [] : [`leaving the sync set: ${record.leaving.join(', ')}`]),
    ...(record.intent === null ? [] : [`under way: ${record.intent.kind} to ${record.intent.candidate}`]),
  ]
}
