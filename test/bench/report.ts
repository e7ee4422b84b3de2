import { renderTable } from '#cli/terminal/table.ts'
import { distributionOf } from './distribution.ts'

/** Measurements by name, in the order in which they are shown. */
export type Samples = ReadonlyMap<string, readonly number[]>

export interface CaseResult {
  readonly name: string
  readonly unit: string
  readonly samples: Samples
  readonly lost: number
  readonly acknowledged: number
  /** What a reader must know of these numbers. */
  readonly note?: string
}

/** Results of one case, one after the other, as one; nothing of nothing. A step that the first lacks has its place. */
export function joined(results: readonly CaseResult[]): CaseResult {
  const { name = '', unit = 'ms' } = results[0] ?? {}
  const order: string[] = []
  for (const { samples } of results) {
    let place = 0
    for (const what of samples.keys()) {
      const known = order.indexOf(what)
      if (known < 0) order.splice(place, 0, what)
      place = (known < 0 ? place : known) + 1
    }
  }
  const valuesOf = (what: string) => results.flatMap(({ samples }) => samples.get(what) ?? [])
  const sumOf = (what: 'lost' | 'acknowledged') => results.reduce((sum, result) => sum + result[what], 0)
  const samples = new Map(order.map((what) => [what, valuesOf(what)]))
  return { name, unit, samples, lost: sumOf('lost'), acknowledged: sumOf('acknowledged') }
}

/** The table that a person reads in a terminal. */
export function tableOf(result: CaseResult): string {
  return `\n${renderTable(headOf(result), rowsOf(result)).join('\n')}\n${lostIn(result)}\n`
}

export function headOf({ name, unit }: CaseResult): readonly string[] {
  return [unit === '' ? name : `${name}, ${unit} after it`, 'runs', 'min', 'median', 'p95', 'max']
}

/** Steps that happened in less than half of the runs are left to the JSON file: their numbers do not compare. */
export function rowsOf({ samples }: CaseResult): readonly (readonly string[])[] {
  const most = Math.max(...[...samples.values()].map((values) => values.length))
  return [...samples].flatMap(([what, values]) => {
    const found = what.startsWith('·') && values.length * 2 < most ? undefined : distributionOf(values)
    return found === undefined
      ? []
      : [
          [
            what,
            String(found.runs),
            ...[found.min, found.median, found.p95, found.max].map((value) => value.toFixed(1)),
          ],
        ]
  })
}

export function lostIn({ lost, acknowledged, note }: CaseResult): string {
  const counted = acknowledged === 0 ? [] : [`${acknowledged} acknowledged writes, lost ${lost}`]
  return [...counted, ...(note === undefined ? [] : [note])].join('; ')
}

export function asJson({ name, unit, samples, lost, acknowledged, note }: CaseResult) {
  const measurements = [...samples].map(([what, values]) => ({ what, ...distributionOf(values), values }))
  return { name, unit, lost, acknowledged, note, measurements }
}
