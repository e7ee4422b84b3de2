import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const charts = join(import.meta.dirname, '..', '..', 'charts')
/** A value of YAML that is an action of a template and nothing beside. */
const lonely = /(?:: |- |\[)\{\{-? ?((?:"(?:[^"\\]|\\.)*"|[^{}"])*?) ?-?\}\}(?= *(?:[,\]}]|$))/gm
/** The same in a text that becomes YAML. */
const printed = /printf "[^"]*: %s[,}"]/g
/** What prints texts in quotes, or YAML. */
const isQuoted = /\| (?:quote|squote|nindent \d+)$|^toJson /
/** What begins, or ends, a part of a template. */
const isControl = /^(?:if|else|end|range|with|define|template|fail|\/\*|\$\w+ :=)/
/** Numbers, and words of the schema or of the template that YAML takes for nothing else. */
const plain: ReadonlySet<string> = new Set([
  '.Values.replicas',
  '.Values.terminationGracePeriodSeconds',
  '$.Values.nodeLossSeconds',
  '.Values.image.pullPolicy',
  '$.Values.webhook.failurePolicy',
  '$.Values.webhook.timeoutSeconds',
  '.Values.monitoring.monitor',
  '.Values.monitoring.interval',
  '.Release.Service',
  '$kind',
  '$key',
  '$variable',
])

async function templates(): Promise<readonly { readonly path: string; readonly text: string }[]> {
  const found = await readdir(charts, { recursive: true })
  const paths = found.filter((path) => path.includes('templates/') && /\.(?:yaml|tpl)$/.test(path))
  return Promise.all(paths.map(async (path) => ({ path, text: await readFile(join(charts, path), 'utf8') })))
}

it('A chart quotes every text of others: a namespace may be called 2024, a release on, and YAML would read no text', async () => {
  const all = await templates()
  expect(all.length).toBeGreaterThan(20)
  const bare = all.flatMap(({ path, text }) =>
    [...text.matchAll(lonely)]
      .map(([, action = '']) => action.trim())
      .filter((action) => !isControl.test(action) && !isQuoted.test(action) && !plain.has(action))
      .map((action) => `${path}: ${action}`),
  )
  expect(bare).toEqual([])
  expect(all.flatMap(({ path, text }) => [...text.matchAll(printed)].map(([found]) => `${path}: ${found}`))).toEqual([])
})
