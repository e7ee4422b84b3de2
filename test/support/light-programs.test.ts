import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { runCommand } from '#common/process/run-command.ts'

const root = join(import.meta.dirname, '..', '..')

/** Prints each package that a program of this project itself imports, before the program runs. */
const listing = `
import { registerHooks } from 'node:module'
const packages = new Set()
registerHooks({
  resolve(name, context, next) {
    const found = next(name, context)
    if (found.url.includes('/node_modules/') && !context.parentURL?.includes('/node_modules/')) packages.add(name)
    return found
  },
})
await import(process.argv.at(-1))
console.log(JSON.stringify([...packages].sort()))
process.exit()
`

/** Each pod runs one of these, so each package costs memory in each pod. `typebox` alone, its builder, takes 11 MB. */
it.each([
  ['an agent', 'agents/run.ts', ['croner', 'mysql2', 'pino', 'typebox/schema']],
  ['a router', 'src/router/run.ts', ['pino', 'typebox/schema']],
  ['a router on Kubernetes', 'src/router/kubernetes/run.ts', ['pino', 'typebox/schema']],
])('%s loads no package but those that it needs at once', async (_, program, packages) => {
  const url = pathToFileURL(join(root, program)).href
  const words = [process.execPath, '--input-type=module', '--eval', listing, '--', url]
  const { stdout, failure } = await runCommand(words, { deadlineMs: 60_000 })
  expect(failure).toBe('')
  expect(JSON.parse(stdout)).toEqual(packages)
})
