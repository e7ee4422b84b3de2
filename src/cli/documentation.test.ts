import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Command } from 'commander'
import { beforeAll, expect, it } from 'vitest'
import { buildWholeProgram } from './program.ts'
import { processIo } from './terminal/io.ts'

const root = join(import.meta.dirname, '../..')

/** Pages that people write, and the reference of commands, which is made from the code. */
async function pages(): Promise<readonly string[]> {
  const found = await readdir(join(root, 'docs'), { recursive: true })
  const written = found.filter((name) => name.endsWith('.md') && !/sentences|mutations/.test(name))
  return ['README.md', ...written.map((name) => join('docs', name))]
}

/** What stands in code, inline or indented. */
function codeIn(text: string): readonly string[] {
  return text
    .split('\n')
    .flatMap((line) => (/^(?: {4}|\$ |bin\/)/.test(line) ? [line] : (line.match(/`[^`]+`/g) ?? [])))
}

/** The words after each `regent` that begins a command, up to a comment, a pipe or the end of the code. */
function commandsIn(code: string): readonly (readonly string[])[] {
  const found = code.matchAll(/(?:^|[`$(&;] ?|bin\/|kubectl )regent ((?:(?!&&)[^#|`;)])*)/g)
  return [...found].map(([, words = '']) => words.trim().split(/\s+/))
}

/** What the words ask for: the deepest command of their beginning, and the options that it takes. */
function asked(words: readonly string[], program: Command): { readonly name: string; readonly options: Set<string> } {
  const [first, ...rest] = words
  const next = program.commands.find((command) => command.name() === first)
  if (next !== undefined) return asked(rest, next)
  const options = program.options.flatMap(({ short, long }) => [short, long])
  return { name: program.name(), options: new Set([...options, '--help'].filter((one) => one !== undefined)) }
}

let program: Command
beforeAll(async () => {
  program = await buildWholeProgram(processIo())
})

it('Every option of a command in the documentation is one that this command takes', async () => {
  const strange: string[] = []
  let seen = 0
  for (const page of await pages())
    for (const words of codeIn(await readFile(join(root, page), 'utf8')).flatMap(commandsIn)) {
      const { name, options } = asked(words, program)
      if (name === program.name()) continue
      seen += 1
      const said = words.flatMap((word) => /^--?[a-z][a-z-]*/.exec(word) ?? [])
      strange.push(...said.filter((option) => !options.has(option)).map((option) => `${page}: ${name} ${option}`))
    }
  expect(strange).toEqual([])
  expect(seen).toBeGreaterThan(200)
})

function runnable(command: Command, path: string): readonly string[] {
  const children = command.commands.filter((child) => child.name() !== 'help' && !('_hidden' in child && child._hidden))
  const deeper = children.flatMap((child) => runnable(child, `${path} ${child.name()}`))
  return children.length > 0 && command.registeredArguments.length === 0 ? deeper : [path, ...deeper]
}

it('Every command that can be run has a chapter in the reference', async () => {
  const reference = await readFile(join(root, 'docs/reference/cli.md'), 'utf8')
  const missing = runnable(program, 'regent').filter((name) => !reference.includes(`\n## ${name}\n`))
  expect(missing).toEqual([])
})
