import { orchestratorKeys, type KeysMeaning } from '#adopt/origin/orchestrator-keys.ts'
import { table } from './markdown.ts'
import { pageWithTable } from './table-in-page.ts'

/** docs/guide/from-orchestrator.md: written by hand but for the table of keys. */
export async function fromOrchestratorPage(path: string): Promise<string> {
  const rows = orchestratorKeys.flatMap(({ keys, here, kind }) =>
    linesOf(keys).map((line) => [line, `${kinds[kind]}${here}`]),
  )
  return pageWithTable(path, 'the table of keys', table(['key of orchestrator', 'here'], rows))
}

const kinds: Readonly<Record<KeysMeaning['kind'], string>> = { taken: 'taken: ', instead: '', none: 'none: ' }

/** A cell is read in one look. */
const longestCell = 200

function linesOf(keys: readonly string[]): readonly string[] {
  return keys.reduce<readonly string[]>((lines, key) => {
    const longer = [lines.at(-1), key].filter((part) => part !== undefined).join(', ')
    return longer.length > longestCell ? [...lines, key] : [...lines.slice(0, -1), longer]
  }, [])
}
