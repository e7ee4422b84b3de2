/** Markdown from data. Cells are escaped: a bar in one would end it, and `<name>` would be taken for HTML. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => escaped(cell)).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

export function page(title: string, madeFrom: string, ...parts: readonly string[]): string {
  return `${[`# ${title}`, `<!-- Made from ${madeFrom} by scripts/generate-docs.ts; "npm run docs" writes it again. -->`, ...parts].join('\n\n')}\n`
}

export function code(text: string): string {
  return text === '' ? '' : `\`${text}\``
}

function escaped(cell: string): string {
  const parts = cell.replaceAll('|', '\\|').replaceAll('\n', ' ').split('`')
  return parts.map((part, at) => (at % 2 === 0 ? part.replaceAll('<', '\\<') : part)).join('`')
}
