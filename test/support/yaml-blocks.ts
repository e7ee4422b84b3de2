import { read } from './page-text.ts'

export interface YamlBlock {
  /** `docs/start/kubernetes.md:41` */
  readonly where: string
  readonly text: string
}

/** What a page shows as YAML: in fences, between the marks of a shell's here-document, and indented. */
export async function yamlIn(page: string): Promise<readonly YamlBlock[]> {
  const lines = (await read(page)).split('\n')
  const found: YamlBlock[] = []
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? ''
    const [, language] = /^ *```(\w*)$/.exec(line) ?? []
    if (language !== undefined) {
      const end = endOf(lines, at + 1, /^ *```$/)
      found.push(...partsOf(page, at + 2, lines.slice(at + 1, end), language))
      at = end
    } else if (/^ {4,}\S/.test(line)) {
      const end = endOf(lines, at, /^ {0,3}\S/)
      found.push(...partsOf(page, at + 1, lines.slice(at, end), ''))
      // What ends an indented block may open a fence.
      at = end - 1
    }
  }
  return found
}

function endOf(lines: readonly string[], from: number, mark: RegExp): number {
  const end = lines.findIndex((line, at) => at >= from && mark.test(line))
  return end === -1 ? lines.length : end
}

function partsOf(page: string, line: number, block: readonly string[], language: string): readonly YamlBlock[] {
  if (language !== '') return /^ya?ml$/.test(language) ? [{ where: `${page}:${line}`, text: dedented(block) }] : []
  const text = dedented(block)
  const documents = [...text.matchAll(/<<\s*'?(\w+)'?.*\n([^]*?)\n\1$/gm)]
  if (documents.length > 0)
    return documents.map(({ index, 2: body = '' }) => ({
      where: `${page}:${line + text.slice(0, index).split('\n').length}`,
      text: body,
    }))
  return /^(?:[a-z][\w.-]*:(?: \S.*)?|- [\w.-]+: .*)$/.test(text.split('\n')[0] ?? '')
    ? [{ where: `${page}:${line}`, text }]
    : []
}

function dedented(block: readonly string[]): string {
  const depths = block.filter((line) => line.trim() !== '').map((line) => line.search(/\S/))
  const depth = Math.min(...depths)
  return block.map((line) => line.slice(depth)).join('\n')
}
