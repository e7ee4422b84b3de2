import { mhaParameters, type MhaMeaning } from '#adopt/origin/mha-parameters.ts'
import { code, table } from './markdown.ts'
import { pageWithTable } from './table-in-page.ts'

/** docs/guide/adopt.md: written by hand but for the table of MHA’s parameters. */
export async function adoptPage(path: string): Promise<string> {
  const rows = Object.entries(mhaParameters).map(([name, meaning]) => [code(name), wordsOf(meaning)])
  const binlogs = [code('[binlog1]'), 'no counterpart: servers that only keep binlogs are not asked']
  return pageWithTable(path, 'the table of parameters', table(['parameter', 'here'], [...rows, binlogs]))
}

function wordsOf(meaning: MhaMeaning): string {
  if ('taken' in meaning) return asCode(meaning.taken)
  return 'instead' in meaning ? `not needed: ${asCode(meaning.instead)}` : `no counterpart: ${asCode(meaning.none)}`
}

/** Keys of the adoption, options of ssh and of scripts. */
function asCode(text: string): string {
  return text
    .replaceAll(/"([^"]+)"/g, (_, quoted: string) => code(quoted))
    .replaceAll(/\b(hosts|mysql|replication|ssh|hooks)\.[A-Za-z]+/g, (key) => code(key))
    .replaceAll(/--command=[a-z]+/g, (option) => code(option))
}
