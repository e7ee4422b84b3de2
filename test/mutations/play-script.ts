import { readdir } from 'node:fs/promises'
import { registerHooks } from 'node:module'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Played, Script } from './scripts.ts'

const root = join(import.meta.dirname, '../..')
const plain = pathToFileURL(join(import.meta.dirname, 'plain-vitest.ts')).href

registerHooks({
  resolve: (name, context, next) =>
    name === 'vitest' ? { url: plain, shortCircuit: true, format: 'module-typescript' } : next(name, context),
})

async function filesOf(script: string): Promise<readonly string[]> {
  const path = join(root, script)
  if (script.endsWith('.ts')) return [path]
  const names = await readdir(path)
  return names.filter((name) => name.endsWith('.test.ts')).map((name) => join(path, name))
}

/** Plays until one fails: what the process prints, as its only line. */
async function play({ script, title }: Script): Promise<Played> {
  const { tests } = await import('./plain-vitest.ts')
  let played = 0
  for (const path of await filesOf(script)) {
    await import(pathToFileURL(path).href)
    for (const test of tests.splice(0)) {
      if (title !== undefined && test.title !== title) continue
      played += 1
      const broke = await failureOf(test.run)
      if (broke !== null) return { played, broken: { script: relative(root, path), title: test.title, broke } }
    }
  }
  return { played }
}

async function failureOf(run: () => unknown): Promise<string | null> {
  try {
    await run()
    return null
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return message.split('\n').slice(0, 6).join(' ').slice(0, 400)
  }
}

/** An agent that cannot start says so to nobody here: its cluster is stuck, and that is what is found. */
process.on('unhandledRejection', () => undefined)

if (import.meta.main) {
  console.log(JSON.stringify(await play(JSON.parse(process.argv[2] ?? '') as Script)))
  process.exit(0)
}
