import { readFile } from 'node:fs/promises'
import { format, resolveConfig } from 'prettier'

/** A page that is written by hand, but for what stands between `begin of <name>` and `end of <name>`. */
export async function pageWithTable(path: string, name: string, table: string): Promise<string> {
  const text = await readFile(path, 'utf8')
  const [begin, end] = [`<!-- begin of ${name}`, `<!-- end of ${name} -->`]
  const [from, to] = [text.indexOf('\n', text.indexOf(begin)), text.indexOf(end)]
  if (!text.includes(begin) || to < 0) throw new Error(`${path} has no place for ${name}: ${begin} … ${end}`)
  const whole = `${text.slice(0, from)}\n\n${table}\n\n${text.slice(to)}`
  return format(whole, { ...(await resolveConfig(path)), parser: 'markdown' })
}
