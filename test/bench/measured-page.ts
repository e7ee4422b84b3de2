import { readFile, writeFile } from 'node:fs/promises'

const begin = /<!-- measured:[^\n]*-->\n/
const end = '<!-- /measured -->'

/** Rows as a Markdown table, numbers to the right, with a sentence below. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[], below: string): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const rule = `|${head.map((_, column) => (column === 0 ? '---' : '---:')).join('|')}|`
  return [line(head), rule, ...rows.map(line), ...(below === '' ? [] : ['', `${below}.`])].join('\n')
}

/** Replaces what stands between the marks of a page. Throws where they are missing. */
export async function replaceMeasured(path: string, parts: readonly string[]): Promise<void> {
  await writeFile(path, withMeasured(path, await readFile(path, 'utf8'), parts))
}

export function withMeasured(path: string, page: string, parts: readonly string[]): string {
  const from = begin.exec(page)
  const to = page.indexOf(end)
  if (from === null || to < from.index)
    throw new Error(`${path} has no part between "<!-- measured: … -->" and "${end}"`)
  return `${page.slice(0, from.index + from[0].length)}\n${parts.join('\n\n')}\n\n${page.slice(to)}`
}
