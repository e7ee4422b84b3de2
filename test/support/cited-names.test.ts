import { globSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { expect, it } from 'vitest'
import { proseOf, quotedIn, read, root, tablesOf } from './page-text.ts'

const pages = globSync('docs/**/*.md', { cwd: root })
const files = globSync('{agents,charts,docs,examples,failover,scripts,src,test,topology}/**/*.*', { cwd: root })
const folders = new Set(files.flatMap(above))
const houses = new Set(files.map((file) => file.split('/')[0] ?? ''))
const testNames = new Set(files.filter((file) => file.endsWith('.test.ts')).map((file) => basename(file, '.test.ts')))

function above(file: string): readonly string[] {
  const folder = dirname(file)
  return folder === '.' ? [] : [folder, ...above(folder)]
}

const isThere = (path: string): boolean =>
  folders.has(path.replace(/\/$/, '')) ||
  files.includes(path) ||
  files.includes(`${path}.test.ts`) ||
  (/[*{]/.test(path) && globSync(path, { cwd: root }).length > 0)

/** Whether a page says of this text that it is a file or a folder of the tree, and there is none. */
function isLostPath(text: string): boolean {
  const path = text.replace(/:\d+$/, '')
  if (!/^[\w@.,{}*…/-]+$/.test(path)) return false
  if (path.startsWith('…/'))
    return ![...files, ...folders].some((known) => known.endsWith(path.slice(1).replace(/\/$/, '')))
  if (path.includes('/')) return houses.has(path.split('/')[0] ?? '') && !isThere(path)
  return /\.(?:ts|hpp|cpp)$/.test(path) && !path.includes('*') && !files.some((file) => basename(file) === path)
}

it('Each path of the tree that a page names is there', async () => {
  const named = await Promise.all(pages.map(async (page) => ({ page, texts: quotedIn(await proseOf(page)) })))
  expect(
    named.flatMap(({ texts }) => texts.filter((text) => houses.has(text.split('/')[0] ?? ''))).length,
  ).toBeGreaterThan(300)
  expect(named.flatMap(({ page, texts }) => texts.filter(isLostPath).map((text) => `${page}: ${text}`))).toEqual([])
})

/** Tests that a page names: in a column of tests, or behind the word "Test" in italics. */
async function testsNamedIn(page: string): Promise<readonly string[]> {
  const prose = await proseOf(page)
  const columns = tablesOf(prose)
    .filter(([head]) => /^tests?\b/.test(head?.at(-1) ?? ''))
    .flatMap(([, ...rows]) => rows.map((row) => row.at(-1) ?? ''))
  const lists = [...prose.matchAll(/_Tests?:_([^]*?)(?:\n\n|$)/g)].map(([, list = '']) => list)
  return [...columns, ...lists].flatMap(quotedIn).filter((text) => /^[\w-]+$/.test(text))
}

it('Each test that a page names as one is there', async () => {
  const named = await Promise.all(pages.map(async (page) => ({ page, tests: await testsNamedIn(page) })))
  const lost = named.flatMap(({ page, tests }) =>
    tests.filter((name) => !testNames.has(name)).map((name) => `${page}: ${name}`),
  )
  expect(named.flatMap(({ tests }) => tests).length).toBeGreaterThan(50)
  expect(lost).toEqual([])
})

/** Whether a file of this text has a function, a class, a type, a value or a method of that name. */
function defines(text: string, name: string): boolean {
  return (
    new RegExp(`^(?:export )?(?:async )?(?:function|const|class|interface|type) ${name}(?![\\w$])`, 'm').test(text) ||
    new RegExp(`^  (?:static |async |get |readonly )*${name}(?:[(<].*[{(]$|[:;=?]| =)`, 'm').test(text)
  )
}

/** Where a page gives names of a file in brackets behind that file: `file.ts` (`one`, `other`). */
async function definitionsIn(page: string): Promise<readonly { readonly file: string; readonly name: string }[]> {
  const found = (await proseOf(page)).matchAll(/`([\w./-]+\/[\w.-]+\.ts)`\s\(([^()]+)\)/g)
  return [...found].flatMap(([, file = '', names = '']) =>
    quotedIn(names)
      .filter((text) => /^#?\w+$/.test(text))
      .map((name) => ({ file, name })),
  )
}

it('A file defines each name that a page gives in brackets behind that file', async () => {
  const lost: string[] = []
  const found = (
    await Promise.all(pages.map(async (page) => (await definitionsIn(page)).map((each) => ({ page, ...each }))))
  ).flat()
  for (const { page, file, name } of found)
    if (!files.includes(file) || !defines(await read(file), name)) lost.push(`${page}: ${name} in ${file}`)
  expect(found.length).toBeGreaterThan(20)
  expect(lost).toEqual([])
})

/** `name()`, `Class.method`, `camelCase`, `PascalCase`: what looks like a name of the code, in its parts. */
function namesIn(text: string): readonly string[] {
  const called = /^#?[a-z]\w*\(\)$/.test(text)
  const member = /^[A-Z]\w+\.#?\w+(?:\(\))?$/.test(text)
  const humps = /^#?(?:[a-z]+\d*[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*)$/.test(text)
  return called || member || humps ? text.split(/[.()#]/).filter((part) => part !== '') : []
}

it('Each name of the code that a page uses is in the code', async () => {
  const code = files.filter((file) => /\.(?:ts|js|hpp|cpp|sh|ya?ml|json|tpl)$/.test(file))
  const words = new Set((await Promise.all(code.map(read))).flatMap((text) => text.match(/[A-Za-z_$][\w$]*/g) ?? []))
  const lost: string[] = []
  let seen = 0
  for (const page of globSync('docs/{guide,why}/**/*.md', { cwd: root }))
    for (const text of quotedIn(await proseOf(page))) {
      const names = namesIn(text)
      seen += names.length
      if (names.some((name) => !words.has(name))) lost.push(`${page}: ${text}`)
    }
  expect(seen).toBeGreaterThan(200)
  expect(lost).toEqual([])
})
