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
  [path, `${path}.test.ts`].some((pattern) => files.some((file) => file === pattern)) ||
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

it('Each test that a column of tests names is there', async () => {
  const lost: string[] = []
  let seen = 0
  for (const page of pages)
    for (const [head = [], ...rows] of tablesOf(await proseOf(page))) {
      if (!/^tests?\b/.test(head.at(-1) ?? '')) continue
      for (const name of rows.flatMap((row) => quotedIn(row.at(-1) ?? '')).filter((text) => /^[\w-]+$/.test(text))) {
        seen += 1
        if (!testNames.has(name)) lost.push(`${page}: ${name}`)
      }
    }
  expect(seen).toBeGreaterThan(50)
  expect(lost).toEqual([])
})

/** Whether a file of this text has a function, a class, a type, a value or a method of that name. */
function defines(text: string, name: string): boolean {
  const escaped = name.replaceAll('$', '\\$')
  return (
    new RegExp(`^(?:export )?(?:async )?(?:function|const|class|interface|type) ${escaped}(?![\\w$])`, 'm').test(
      text,
    ) || new RegExp(`^  (?:static |async |get |readonly )*${escaped}(?:[(<].*[{(]$|[:;=?]| =)`, 'm').test(text)
  )
}

it('A file defines each name that a page gives in brackets behind that file', async () => {
  const lost: string[] = []
  let seen = 0
  for (const page of pages)
    for (const [, file = '', names = ''] of (await proseOf(page)).matchAll(/`([\w./-]+\/[\w.-]+\.ts)`\s\(([^()]+)\)/g))
      for (const name of quotedIn(names).filter((text) => /^#?\w+$/.test(text))) {
        seen += 1
        if (!files.includes(file) || !defines(await read(file), name)) lost.push(`${page}: ${name} in ${file}`)
      }
  expect(seen).toBeGreaterThan(20)
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
