import ts from 'typescript'
import { expect, it } from 'vitest'
import { productSources } from './product-sources.ts'

const command = /\bregent (?:local|failover|switchover|replace|resume|pause|downtime|reseed|explain|topology) ?[a-z]*/

/** Errors that are made with these words and say nothing of a remedy. */
function errorsWithTwo(file: string, text: string): readonly string[] {
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isNewExpression(node) && node.expression.getText() === 'RegentError') {
      const [, message, options] = node.arguments ?? []
      const names = message === undefined ? null : command.exec(message.getText())
      if (names && options?.getText().includes('remedy') !== true) found.push(`${file}: ${names[0]}`)
    }
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true))
  return found
}

it('An error whose message names a command has no other remedy behind that', async () => {
  expect((await productSources()).flatMap(({ file, text }) => errorsWithTwo(file, text))).toEqual([])
  expect(errorsWithTwo('a.ts', `new RegentError('A', \`"regent local down \${name}" ends it\`)`)).toHaveLength(1)
})
