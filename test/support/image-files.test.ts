import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }

const root = join(import.meta.dirname, '../..')

/**
 * Files that .dockerignore keeps out although they are below a folder that it lets in: its lines after the first "*"
 * that let nothing in.
 */
const keptOut = new Set(
  readFileSync(join(root, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => /^[^!#*]|^\*\*/.test(line) && line !== 'scripts/*')
    .flatMap((pattern) =>
      globSync([pattern, `${pattern}/**`], { cwd: root, exclude: ['node_modules/**', '.cache/**'] }),
    ),
)

test('the image leaves out tests and what only they use', () => {
  for (const file of [
    'topology/analysis/analyse.test.ts',
    'topology/testing.ts',
    'agents/testing.ts',
    'topology/analysis/cases/case.ts',
  ])
    expect(keptOut).toContain(file)
})

/** Where a name of package.json's `imports` lies. */
function placeOf(name: string): string {
  const [house = ''] = name.split('/', 1)
  const place: string = manifest.imports[`${house}/*` as keyof typeof manifest.imports]
  return join(place.slice(0, -1), name.slice(house.length + 1))
}

test('whatever a file of the image imports is in the image', () => {
  const shipped = globSync('{agents,failover,src,topology}/**/*.ts', { cwd: root }).filter((file) => !keptOut.has(file))
  const imports = shipped.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    return [...text.matchAll(/(?:from |import\()'([.#][^']+)'/g)].map(([, name = '']) => ({
      file,
      imported: name.startsWith('#') ? placeOf(name) : relative(root, join(root, dirname(file), name)),
    }))
  })
  expect(imports.length).toBeGreaterThan(500)
  expect(imports.filter(({ imported }) => keptOut.has(imported) || !existsSync(join(root, imported)))).toEqual([])
})
