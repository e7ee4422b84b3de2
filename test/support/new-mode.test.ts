import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { runCommand } from '#common/process/run-command.ts'

const root = join(import.meta.dirname, '..', '..')
const switches = ['agents/converge/mode-of.ts', 'failover/decide.ts']

/** A mode that decides nothing and converges at once. */
const decides = `import type { Mode } from '../flows/mode.ts'
import { step } from '../flows/step.ts'

const never = 'a toy leads nobody'

export const toy: Mode = {
  decide: () => step('a toy decides nothing'),
  analyse: () => [],
  planSwitchover: () => ({ refusal: never }),
  beginSwitchover: () => step(never),
  judge: () => ({ kind: 'unknown', sentence: never, witnesses: [], revisitMs: null }),
  whyNothingToMend: () => never,
  stepsOfFailover: () => [],
  whyNeverTo: () => never,
  isSafePossible: () => false,
  planForcedBootstrap: () => ({ refusal: never }),
}
`
const converges = `import type { Mode } from '../instance/agent-mode.ts'
import { rest, type NextPass, type View } from '../instance/pass.ts'

export class Toy implements Mode {
  start(): void {}
  isReadyFor = (): boolean => false
  underPromise = (): NextPass | null => null
  staysClosed = (): NextPass => rest
  promise = (): Promise<void> => Promise.resolve()
  prepareToLead = (): Promise<void> => Promise.resolve()
  demote = (): Promise<void> => Promise.resolve()
  stepDown = (): Promise<void> => Promise.resolve()
  expel = (): void => undefined
  waitsToEnd = (): string | null => null
  isKilledAtEnd = (): boolean => false
  leave = (): Promise<void> => Promise.resolve()
  marksOfPrimary = (): object => ({})

  next(_: View, { revision }: { readonly revision: number }): NextPass {
    return { ...rest, then: { converged: { revision, done: true, sentence: 'a toy converges at once' } } }
  }
}
`
const plays = `import { Converger } from './agents/converge/converger.ts'
import { aServerState, primaryOfEpoch3, ScriptedServer, testParts } from './agents/testing.ts'
import { decide } from './failover/decide.ts'

console.log(decide({ spec: { mode: 'toy' } } as never).sentence)
const parts = await testParts(new ScriptedServer(aServerState()))
const toy = { ...parts, config: { ...parts.config, mode: 'toy' as const } }
await toy.file.update({ promise: 3, revision: 10, assignment: primaryOfEpoch3 })
await new Converger(toy, () => undefined).pass()
console.log(toy.course.converged.sentence)
process.exit()
`

let folder = ''

/** A copy of the product, without tests, where a mode `toy` has its two folders and its name. */
async function copyWithToy(): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), 'regent-new-mode-'))
  for (const part of ['agents', 'failover', 'src', 'topology'])
    await cp(join(root, part), join(folder, part), {
      recursive: true,
      filter: (path) => !path.endsWith('.test.ts'),
    })
  for (const file of ['package.json', 'tsconfig.json']) await cp(join(root, file), join(folder, file))
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  await put('failover/toy/toy.ts', decides)
  await put('agents/toy/toy.ts', converges)
  await edit('failover/protocol/mode.ts', `['semisync', 'group']`, `['semisync', 'group', 'toy']`)
}

async function put(path: string, text: string): Promise<void> {
  await mkdir(join(folder, path, '..'), { recursive: true })
  await writeFile(join(folder, path), text)
}

async function edit(path: string, from: string, to: string): Promise<void> {
  const text = await readFile(join(folder, path), 'utf8')
  if (!text.includes(from)) throw new Error(`${path} has no ${from}`)
  await writeFile(join(folder, path), text.replace(from, to))
}

/** The files that do not type-check. Throws where the compiler says nothing and fails. */
async function wrongFiles(): Promise<readonly string[]> {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const options = ['--noEmit', '--incremental', '--tsBuildInfoFile', join(folder, 'info'), '--pretty', 'false']
  const { ok, stdout, failure } = await runCommand(
    [process.execPath, compiler, '--project', join(folder, 'tsconfig.json'), ...options],
    { deadlineMs: 300_000 },
  )
  const files = [...stdout.matchAll(/^([^ (]+)\(\d+,\d+\): error/gm)].map(([, file]) => relative(folder, file ?? ''))
  if (!ok && files.length === 0) throw new Error(failure)
  return [...new Set(files)].sort()
}

beforeAll(copyWithToy, 60_000)

describe('A new mode is a folder in failover/ and one in agents/', () => {
  it('which two switches must name, and nothing else', async () => {
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    expect(await wrongFiles()).toEqual(switches)
    const semisync = `case 'semisync':`
    await edit('failover/decide.ts', semisync, `case 'toy':\n      return toy\n    ${semisync}`)
    await edit('failover/decide.ts', 'import', `import { toy } from './toy/toy.ts'\nimport`)
    await edit('agents/converge/mode-of.ts', semisync, `case 'toy':\n      return new Toy()\n    ${semisync}`)
    await edit('agents/converge/mode-of.ts', 'import', `import { Toy } from '../toy/toy.ts'\nimport`)
    expect(await wrongFiles()).toEqual([])
    await put('play.ts', plays)
    const { stdout, stderr } = await runCommand([process.execPath, join(folder, 'play.ts')], {
      deadlineMs: 60_000,
    })
    expect(stderr).toBe('')
    expect(stdout.trim().split('\n')).toEqual(['a toy decides nothing', 'a toy converges at once'])
  }, 600_000)
})
