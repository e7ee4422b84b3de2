import { CommanderError, type Command } from 'commander'
import { anyOnKubernetes, localPlace, type Place } from '#common/sentence/command.ts'
import { printed, reported, say } from '#common/sentence/sentence.ts'
import { codeOf, describeError, RegentError } from '#common/errors/errors.ts'
import { bareProgram } from './bare-program.ts'
import { addAgent } from './commands/programs/agent.ts'
import { addLifecycleAgent } from './commands/programs/lifecycle-agent.ts'
import { addRemoteAgents } from './commands/programs/remote-agents.ts'
import { addRouter } from './commands/programs/router.ts'
import { exitCodeOf, exitCodes } from './terminal/exit-codes.ts'
import { isKubectlPlugin, type Io } from './terminal/io.ts'
import { paintFor } from './terminal/paint.ts'
import { toJson } from './terminal/json-output.ts'
import { inPlainWords } from './terminal/plain-words.ts'
import { printable } from './terminal/printable.ts'
import { verbFirst } from './terminal/verb-first.ts'

/** Runs one command line (without node and script) and resolves to the exit code. Errors are told on standard error. */
export async function run(given: readonly string[], io: Io): Promise<number> {
  const argv = verbFirst(given)
  const json = wantsJson(argv)
  const program = await programFor(argv, io, json)
  try {
    await program.parseAsync(argv, { from: 'user' })
    return Number(process.exitCode ?? exitCodes.ok)
  } catch (error) {
    if (!(error instanceof CommanderError)) {
      tell(io, error, { json, where: placeOf(argv, io) })
      return exitCodeOf(error)
    }
    if (error.exitCode === 0) return exitCodes.ok
    // Commander has told it already, unless it was kept from it for JSON.
    if (json)
      tell(io, new RegentError('REGENT_BAD_REQUEST', say`${inPlainWords(error.message).replace(/^error: /, '')}`), {
        json,
        where: placeOf(argv, io),
      })
    return exitCodes.usage
  }
}

/** The system's own refusals (EACCES, ENOSPC …) explain themselves: they are no mistake of ours. */
function asOurs(error: unknown): unknown {
  const isSystem = error instanceof Error && !(error instanceof RegentError) && 'errno' in error && 'syscall' in error
  return isSystem ? new RegentError('REGENT_SYSTEM', say`${reported(error.message)}`, { cause: error }) : error
}

function tell(
  io: Io,
  thrown: unknown,
  { json, where }: { readonly json: boolean; readonly where: Place['kind'] },
): void {
  const error = asOurs(thrown)
  const said = error instanceof RegentError ? error.said : describeError(error)
  const code = codeOf(error)
  const message = printable(printed(said, where === 'local' ? localPlace : anyOnKubernetes))
  const remedy = error instanceof RegentError ? error.remedyIn(where) : ''
  if (json) return io.note(toJson({ code, message, remedy }))
  const paint = paintFor(io.colour)
  io.note(`${paint.red('error')}: ${message}`)
  if (remedy !== '') io.note(`  ${remedy}`)
  io.note(`  ${paint.dim(code)}`)
  if (isUnexpected(error)) io.note(error.stack ?? '')
}

/** A mistake of ours, whose stack is what a report needs. */
function isUnexpected(error: unknown): error is Error {
  return error instanceof Error && !(error instanceof RegentError)
}

const alone = new Map([
  ['agent', addAgent],
  ['remote-agents', addRemoteAgents],
  ['lifecycle-agent', addLifecycleAgent],
  ['router', addRouter],
])

/** Agent and router run for long, and each would take 7 MB more with the definitions of all other commands. */
async function programFor(argv: readonly string[], io: Io, json: boolean): Promise<Command> {
  const addAlone = alone.get(argv[0] ?? '')
  if (addAlone !== undefined) {
    const program = bareProgram(io, json)
    addAlone(program, io)
    return program
  }
  const { buildProgram, buildWholeProgram } = await import('./program.ts')
  return needsWhole(argv) ? buildWholeProgram(io, json) : buildProgram(io, json)
}

/** Whether the command shows or takes the flags of the manager. */
function needsWhole(argv: readonly string[]): boolean {
  return ['manager', 'help', 'completion'].includes(argv.find((word) => !word.startsWith('-')) ?? '')
}

/** Whether it was about a cluster on Kubernetes: `findPlace` decides so too, and an error may come before. */
function placeOf(argv: readonly string[], io: Io): Place['kind'] {
  const isAsked = argv.some(
    (word) =>
      /^(-n|--(namespace|context|kubeconfig|manager-namespace)(=|$))/.test(word) ||
      /^[a-z][a-z0-9-]*\/[a-z]/.test(word),
  )
  return isKubectlPlugin(io) || isAsked ? 'kubernetes' : 'local'
}

/** Errors come in the format that results were asked for; the options may not have been parsed when one happens. */
function wantsJson(argv: readonly string[]): boolean {
  return argv.some(
    (word, at) =>
      word === '-ojson' ||
      word === '--output=json' ||
      ((word === '-o' || word === '--output') && argv[at + 1] === 'json'),
  )
}
