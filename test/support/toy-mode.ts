import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

const root = join(import.meta.dirname, '..', '..')

/**
 * A mode that decides nothing and converges at once. In each question a mode is asked it differs from the others: a
 * replica follows without a channel, a primary that is healthy for the others is still opening, and nobody answers
 * alone. Whoever asks another mode, or guesses by what a record or an assignment has, hears something else.
 */
const decides = `import { say } from '#common/sentence/sentence.ts'
import type { Mode } from '../flows/mode.ts'
import { step } from '../steps/step.ts'

const never = say\`a toy leads nobody\`

export const toy: Mode = {
  decide: () => ({ ...step(say\`a toy decides nothing\`), condition: 'primaryUnsure' }),
  analyse: () => [],
  planSwitchover: () => ({ refusal: never }),
  beginSwitchover: () => step(never),
  follows: ({ stored }) => stored.assignment?.source === 'shop-0',
  judge: () => ({
    kind: 'unknown',
    sentence: say\`a toy judges by itself\`,
    witnesses: [],
    revisitMs: null,
    opening: { sentence: say\`a toy opens\`, successor: null, revisitMs: 1 },
  }),
  whyNothingToMend: () => null,
  stepsOfFailover: () => [],
  whyNeverTo: () => never,
  isSafePossible: () => false,
  planForcedBootstrap: () => ({ refusal: never }),
}
`
const converges = `import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { Mode } from '../instance/agent-mode.ts'
import type { AnswersAlone } from '../instance/parts.ts'
import { rest, type NextPass, type View } from '../instance/pass.ts'

export class Toy implements Mode {
  static readonly answersAlone: AnswersAlone = () => false
  start(): void {}
  isReadyFor = (): boolean => false
  underPromise = (): NextPass | null => null
  staysClosed = (): NextPass => rest
  promise = (): Promise<void> => Promise.resolve()
  prepareToLead = (): Promise<void> => Promise.resolve()
  demote = (): Promise<void> => Promise.resolve()
  stepDown = (): Promise<void> => Promise.resolve()
  expel = (): void => undefined
  waitsToEnd = (): null => null
  whyNotSeeded = (): Sentence | null => say\`a toy keeps its data\`
  isKilledAtEnd = (): boolean => false
  leave = (): Promise<void> => Promise.resolve()
  marksOfPrimary = (): object => ({})

  next(_: View, { revision }: { readonly revision: number }): NextPass {
    return { ...rest, then: [{ fact: 'converged', revision, done: true, sentence: say\`a toy converges at once\` }] }
  }
}
`
/** The switches that must name a mode. */
export const switches = ['agents/converge/mode-of.ts', 'failover/decide.ts']

/** A copy of the product, without tests, where a mode `toy` has its two folders and its name; gone after the test. */
export async function copyWithToy(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'regent-new-mode-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  for (const part of ['agents', 'failover', 'src', 'topology'])
    await cp(join(root, part), join(folder, part), {
      recursive: true,
      filter: (path) => !path.endsWith('.test.ts'),
    })
  for (const file of ['package.json', 'tsconfig.json']) await cp(join(root, file), join(folder, file))
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  await put(join(folder, 'failover/toy/toy.ts'), decides)
  await put(join(folder, 'agents/toy/toy.ts'), converges)
  await edit(
    join(folder, 'failover/protocol/mode-name.ts'),
    `['semisync', 'async', 'group']`,
    `['semisync', 'async', 'group', 'toy']`,
  )
  return folder
}

export async function nameToyInSwitches(folder: string): Promise<void> {
  const [modeOf, decide] = switches.map((path) => join(folder, path)) as [string, string]
  const semisync = `case 'semisync':`
  await edit(decide, semisync, `case 'toy':\n      return toy\n    ${semisync}`)
  await edit(decide, 'import', `import { toy } from './toy/toy.ts'\nimport`)
  await edit(modeOf, 'semisync: Semisync,', 'semisync: Semisync,\n  toy: Toy,')
  await edit(modeOf, 'import', `import { Toy } from '../toy/toy.ts'\nimport`)
}

async function put(path: string, text: string): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true })
  await writeFile(path, text)
}

async function edit(path: string, from: string, to: string): Promise<void> {
  const text = await readFile(path, 'utf8')
  if (!text.includes(from)) throw new Error(`${path} has no ${from}`)
  await writeFile(path, text.replace(from, to))
}
