import { readFile, writeFile } from 'node:fs/promises'

/** Parts of a page that are written by a bench, by the word in their marks. */
export const measuredParts = ['measured', 'measured agents'] as const
export type MeasuredPart = (typeof measuredParts)[number]

/** Rows as a Markdown table, numbers to the right, with a sentence below. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[], below: string): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const rule = `|${head.map((_, column) => (column === 0 ? '---' : '---:')).join('|')}|`
  return [line(head), rule, ...rows.map(line), ...(below === '' ? [] : ['', `${below}.`])].join('\n')
}

/** Replaces what stands between the marks of a part of a page. Throws where they are missing. */
export async function replaceMeasured(path: string, part: MeasuredPart, texts: readonly string[]): Promise<void> {
  const page = await readFile(path, 'utf8')
  await writeFile(path, withMeasured({ path, page }, part, texts))
}

export interface Page {
  readonly path: string
  readonly page: string
}

export function withMeasured({ path, page }: Page, part: MeasuredPart, texts: readonly string[]): string {
  const end = `<!-- /${part} -->`
  const from = new RegExp(`<!-- ${part}:[^\\n]*-->\\n`).exec(page)
  const to = page.indexOf(end)
  if (from === null || to < from.index)
    throw new Error(`${path} has no part between "<!-- ${part}: … -->" and "${end}"`)
  return `${page.slice(0, from.index + from[0].length)}\n${texts.join('\n\n')}\n\n${page.slice(to)}`
}
