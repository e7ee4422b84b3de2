import { readFile } from 'node:fs/promises'
import { format, resolveConfig } from 'prettier'
import { orchestratorKeys, type KeysMeaning } from '#adopt/origin/orchestrator-keys.ts'
import { table } from './markdown.ts'

const [begin, end] = ['<!-- begin of the table of keys', '<!-- end of the table of keys -->']

/** docs/guide/from-orchestrator.md: written by hand but for the table of keys. */
export async function fromOrchestratorPage(path: string): Promise<string> {
  const text = await readFile(path, 'utf8')
  const [from, to] = [text.indexOf('\n', text.indexOf(begin)), text.indexOf(end)]
  if (!text.includes(begin) || to < 0) throw new Error(`${path} has no place for the table of keys: ${begin} … ${end}`)
  const rows = orchestratorKeys.flatMap(({ keys, here, kind }) =>
    linesOf(keys).map((line) => [line, `${kinds[kind]}${here}`]),
  )
  const whole = `${text.slice(0, from)}\n\n${table(['key of orchestrator', 'here'], rows)}\n\n${text.slice(to)}`
  return format(whole, { ...(await resolveConfig(path)), parser: 'markdown' })
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
