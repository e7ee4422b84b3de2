import { globSync } from 'node:fs'
import { posix } from 'node:path'
import { expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { read, root } from './page-text.ts'

const files = globSync('{agents,failover,src,topology}/**/*.ts', { cwd: root }).filter(
  (file) => !file.endsWith('.test.ts'),
)

/** Types count too: a reader follows these as well. */
async function importsOf(file: string): Promise<readonly string[]> {
  const named = [...(await read(file)).matchAll(/(?:from|import) ?\(?'([#.][^']+)'/g)].map(([, path = '']) => path)
  return named.map((path) => {
    const [house = '', ...rest] = path.split('/')
    if (!house.startsWith('#')) return posix.join(posix.dirname(file), path)
    const folder = (manifest.imports as Readonly<Record<string, string>>)[`${house}/*`] ?? ''
    return posix.join(folder.replace('*', ''), ...rest)
  })
}

/** The files that are left when those go again and again that import none that is left. */
function inCircles(imports: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const left = new Set(imports.keys())
  const leaves = (): readonly string[] =>
    [...left].filter((file) => !(imports.get(file) ?? []).some((path) => path !== file && left.has(path)))
  for (let gone = leaves(); gone.length > 0; gone = leaves()) for (const file of gone) left.delete(file)
  const isImported = (file: string): boolean => [...left].some((other) => imports.get(other)?.includes(file) === true)
  for (let size = -1; size !== left.size;) {
    size = left.size
    for (const file of left) if (!isImported(file)) left.delete(file)
  }
  return [...left]
}

it('No files of the product import each other in a circle', async () => {
  const imports = new Map(await Promise.all(files.map(async (file) => [file, await importsOf(file)] as const)))
  // What tests share stands beside the product in files named `testing…`, which may use what all tests share.
  const known = [...imports.values()].flat().filter((path) => !path.startsWith('test/'))
  expect(known.length).toBeGreaterThan(4_000)
  expect(known.filter((path) => !imports.has(path) && !path.endsWith('.json'))).toEqual([])
  expect(inCircles(imports)).toEqual([])
})

it('A circle is seen, and what hangs on one is not named', () => {
  const imports = new Map([
    ['a', ['b']],
    ['b', ['c']],
    ['c', ['b', 'd']],
    ['d', []],
  ])
  expect(inCircles(imports)).toEqual(['b', 'c'])
})
