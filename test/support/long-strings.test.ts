import ts from 'typescript'
import { expect, it } from 'vitest'
import { productSources } from './product-sources.ts'

const widest = 160

/** Lines of string and template literals that no screen shows whole. */
function wideIn(text: string): readonly string[] {
  if (text.split('\n').every((line) => line.length <= widest)) return []
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteral(node) || ts.isTemplateLiteral(node))
      found.push(
        ...node
          .getText()
          .split('\n')
          .filter((line) => line.length > widest),
      )
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile('a.ts', text, ts.ScriptTarget.Latest, true))
  return found
}

it('No string of the product is wider than 160 columns in its source', async () => {
  const sources = await productSources()
  const wide = sources.flatMap(({ file, text }) => wideIn(text).map((line) => `${file}: ${line}`))
  expect(sources.length).toBeGreaterThan(400)
  expect(wide).toEqual([])
})

it('A line of a string counts, with the code of its parts, and no string that is joined of two', () => {
  const [half, whole] = ['x'.repeat(100), 'x'.repeat(159)]
  expect(wideIn(`const one = '${whole}'`)).toHaveLength(1)
  expect(wideIn(`const one = '${half}' + '${half}'`)).toEqual([])
  expect(wideIn(`const one = say\`${half} \${name(${'y'.repeat(60)})}\``)).toHaveLength(1)
  expect(wideIn(`const one = \`${half}\n${half}\``)).toEqual([])
})
