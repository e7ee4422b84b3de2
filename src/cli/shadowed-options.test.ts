import type { Command } from 'commander'
import { expect, it } from 'vitest'
import { buildWholeProgram } from './program.ts'
import { processIo } from './terminal/io.ts'

/** These read `optsWithGlobals`: a flag that the command above has too is parsed there, wherever the flag stands. */
const readWithThoseAbove = ['adopt list', 'adopt remove', 'adopt start', 'adopt manage']

it('No flag of a command is taken away by the same flag of the command above', async () => {
  const found = shadowed(await buildWholeProgram(processIo()), [], '')
  expect(found).toContain('adopt manage --check')
  expect(found.filter((flag) => !readWithThoseAbove.includes(flag.replace(/ --\S+$/, '')))).toEqual([])
})

function shadowed(command: Command, above: readonly string[], path: string): readonly string[] {
  const own = command.options.map(({ long }) => long ?? '')
  const below = command.commands.flatMap((each) => shadowed(each, [...above, ...own], `${path} ${each.name()}`.trim()))
  return [...own.filter((flag) => above.includes(flag)).map((flag) => `${path} ${flag}`), ...below]
}
