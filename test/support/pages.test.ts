import { existsSync, globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
const pages = globSync(['*.md', 'docs/**/*.md', 'charts/**/*.md', 'test/**/*.md'], { cwd: root })
const sources = globSync(['{agents,failover,src,test,topology,scripts}/**/*.{ts,js,cpp,hpp}'], { cwd: root })
const read = (file: string): Promise<string> => readFile(join(root, file), 'utf8')

/** A heading as GitHub names it in an address. */
function anchorOf(heading: string): string {
  const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
  return plain.replace(/[^\p{L}\p{N}\p{Pc}\- ]/gu, '').replaceAll(' ', '-')
}

function headingsOf(page: string): readonly string[] {
  return [...page.replace(/^```[^]*?^```/gm, '').matchAll(/^#+ +(.+)$/gm)].map(([, heading = '']) => heading.trim())
}

/** What a comment may cite: a heading, or the bold words that a paragraph begins with. */
function citable(page: string): ReadonlySet<string> {
  const leads = [...page.matchAll(/^\*\*(.+?)\.?\*\*/gm)].map(([, lead = '']) => lead)
  return new Set([...headingsOf(page), ...leads])
}

it('Every link in a page leads to a file that is here, and to a heading in that file', async () => {
  const broken: string[] = []
  let seen = 0
  for (const page of pages) {
    const text = (await read(page)).replace(/^```[^]*?^```/gm, '').replace(/`[^`\n]*`/g, '')
    for (const [, to = '', anchor] of text.matchAll(/\]\(([^)#:\s]*)(?:#([^)\s]*))?\)/g)) {
      seen += 1
      const target = to === '' ? page : join(dirname(page), to)
      if (!existsSync(join(root, target))) broken.push(`${page}: ${to}`)
      else if (
        anchor !== undefined &&
        !headingsOf(await read(target))
          .map(anchorOf)
          .includes(anchor)
      )
        broken.push(`${page}: ${to}#${anchor}`)
    }
  }
  expect(seen).toBeGreaterThan(50)
  expect(broken).toEqual([])
})

it('What the code cites of a page is there', async () => {
  const broken: string[] = []
  let seen = 0
  for (const file of sources.filter((name) => name !== join('test', 'support', 'pages.test.ts'))) {
    const text = (await read(file)).replaceAll(/\n\s*(?:\*|\/\/) /g, ' ')
    if (/\bdesign §/.test(text)) broken.push(`${file} cites a design that a reader of this repository does not have`)
    for (const [, page = '', cited = ''] of text.matchAll(
      /(docs\/[\w/-]+\.md)((?:, "[^"\n]+"(?: and "[^"\n]+")*)?)/g,
    )) {
      seen += 1
      if (!existsSync(join(root, page))) broken.push(`${file}: ${page}`)
      else
        for (const [, words = ''] of cited.matchAll(/"([^"]+)"/g))
          if (!citable(await read(page)).has(words)) broken.push(`${file}: ${page}, "${words}"`)
    }
  }
  expect(seen).toBeGreaterThan(30)
  expect(broken).toEqual([])
})
