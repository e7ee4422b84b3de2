import { existsSync, globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { proseOf, read, root, tablesOf, withoutCode } from './page-text.ts'

const pages = globSync(['*.md', 'docs/**/*.md', 'charts/**/*.md', 'test/**/*.md'], { cwd: root })
const sources = globSync(
  ['{agents,failover,src,test,topology,scripts}/**/*.{ts,js,cpp,hpp}', 'charts/**/*.{yaml,tpl}'],
  { cwd: root },
)

/** A heading as GitHub names it in an address. */
function anchorOf(heading: string): string {
  const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
  return plain.replace(/[^\p{L}\p{N}\p{Pc}\- ]/gu, '').replaceAll(' ', '-')
}

function headingsOf(page: string): readonly string[] {
  return [...withoutCode(page).matchAll(/^#+ +(.+)$/gm)].map(([, heading = '']) => heading.trim())
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
    const text = (await proseOf(page)).replace(/`[^`\n]*`/g, '')
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

/** What a file cites of pages: a page, or a decision by its number, and headings of that page perhaps. */
function citationsIn(text: string): readonly { readonly page: string; readonly headings: readonly string[] }[] {
  const flowing = text.replaceAll(/\n\s*(?:\*|\/\/) /g, ' ')
  const found = flowing.matchAll(
    /(docs\/(?:[\w/-]+\.md|why\/decisions\/\d{4}(?!\d|-)))((?:, "[^"\n]+"(?: and "[^"\n]+")*)?)/g,
  )
  return [...found].map(([, page = '', cited = '']) => ({
    page,
    headings: [...cited.matchAll(/"([^"]+)"/g)].map(([, words = '']) => words),
  }))
}

async function missingOf(page: string, headings: readonly string[]): Promise<readonly string[]> {
  if (!page.endsWith('.md')) return globSync(`${page}-*.md`, { cwd: root }).length === 1 ? [] : [page]
  if (!existsSync(join(root, page))) return [page]
  const there = citable(await read(page))
  return headings.filter((words) => !there.has(words)).map((words) => `${page}, "${words}"`)
}

it('What the code, the charts and the pages cite of a page is there', async () => {
  const broken: string[] = []
  let seen = 0
  for (const file of [...sources, ...pages]) {
    const text = await read(file)
    if (/\bdesign\b(?:’s|'s)?(?::|\s[\s*]*§)/i.test(text))
      broken.push(`${file} cites a design that is not in this repository`)
    for (const { page, headings } of citationsIn(text)) {
      seen += 1
      broken.push(...(await missingOf(page, headings)).map((what) => `${file}: ${what}`))
    }
  }
  expect(seen).toBeGreaterThan(30)
  expect(broken).toEqual([])
})

/** Whether a script makes this page of the code: its tables are looked up and not read through. */
const isMade = (page: string): boolean => page.includes('by scripts/generate-docs.ts;')

/** A cell as a reader sees it: of a link its words alone. */
const shown = (cell: string): string => cell.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')

it('No cell of a table that people read through is longer than 200 characters', async () => {
  const written = (await Promise.all(pages.map(async (page) => ({ page, text: await read(page) })))).filter(
    ({ text }) => !isMade(text),
  )
  const cells = written.flatMap(({ page, text }) =>
    tablesOf(withoutCode(text))
      .flat(2)
      .map((cell) => ({ page, cell: shown(cell) })),
  )
  expect(written.length).toBeGreaterThan(20)
  expect(cells.length).toBeGreaterThan(1_000)
  expect(cells.filter(({ cell }) => cell.length > 200)).toEqual([])
})
