import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeError } from '#common/errors/errors.ts'

const folder = join('test', 'e2e')

export type E2eWords =
  | { readonly what: 'usage' }
  | {
      readonly what: 'flows'
      /** As vitest takes them; none for all flows. */
      readonly filters: readonly string[]
      readonly keep: boolean
      /** Of the cluster's addresses, that of pods first. Absent for IPv4 alone. */
      readonly families?: string
    }

const families = ['ipv4', 'ipv6', 'ipv4,ipv6', 'ipv6,ipv4']

export const e2eUsage = `usage: npm run test:e2e -- [smoke] [WORD …] [--keep] [--families LIST]

  smoke   the part that matters most
  WORD    flows whose file has this in its name, test/e2e/…; all flows where no word is said
  --keep  leave the cluster up
  --families LIST
          addresses of the cluster: ipv4 unless said, ipv6, or both, that of pods first, such as ipv6,ipv4

On a cluster of three nodes that this makes and ends, or on the one that REGENT_E2E_KUBECONFIG names.`

/** Throws what is wrong with the words and how they are to be. Nothing may have been started before. */
export function e2eWordsOf(words: readonly string[], root: string): E2eWords {
  if (words.some((word) => word === '--help' || word === '-h')) return { what: 'usage' }
  try {
    const { values, positionals } = parseArgs({
      args: [...words],
      allowPositionals: true,
      options: { keep: { type: 'boolean', default: false }, families: { type: 'string' } },
    })
    const files = flowsIn(root)
    const filters = positionals.map((word) => (word === 'smoke' ? `${folder}/smoke/` : word))
    for (const filter of filters)
      if (!files.some((file) => file.includes(filter))) throw new Error(`no file of a flow has "${filter}" in its name`)
    const said = values.families
    if (said !== undefined && !families.includes(said))
      throw new Error(`--families is "${said}"; allowed are ${families.join('; ')}`)
    return { what: 'flows', filters, keep: values.keep, ...(said !== undefined && { families: said }) }
  } catch (error) {
    throw new Error(`${describeError(error)}\n\n${e2eUsage}`, { cause: error })
  }
}

function flowsIn(root: string): readonly string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join(folder, name))
}
