import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { runCommand } from '#common/process/run-command.ts'

const root = join(import.meta.dirname, '..', '..')
const switches = ['agents/converge/mode-of.ts', 'failover/decide.ts']

/**
 * A mode that decides nothing and converges at once. In each question a mode is asked it differs from the others: a
 * replica follows without a channel, a primary that is healthy for the others is still opening, and nobody answers
 * alone. Whoever asks another mode, or guesses by what a record or an assignment has, hears something else.
 */
const decides = `import { say } from '#common/sentence/sentence.ts'
import type { Mode } from '../flows/mode.ts'
import { step } from '../flows/step.ts'

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
const converges = `import type { Mode } from '../instance/agent-mode.ts'
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
  waitsToEnd = (): string | null => null
  whyNotSeeded = (): string | null => 'a toy keeps its data'
  isKilledAtEnd = (): boolean => false
  leave = (): Promise<void> => Promise.resolve()
  marksOfPrimary = (): object => ({})

  next(_: View, { revision }: { readonly revision: number }): NextPass {
    return { ...rest, then: [{ fact: 'converged', revision, done: true, sentence: 'a toy converges at once' }] }
  }
}
`
const plays = `import { Converger } from './agents/converge/converger.ts'
import { answersAloneIn } from './agents/converge/mode-of.ts'
import { isEndingUnseen } from './agents/doubts/ending.ts'
import { Seeding } from './agents/orders/reseeding.ts'
import { OrderDesk } from './agents/orders/desk.ts'
import { aServerState, primaryOfEpoch3, replicaOfEpoch3, ScriptedProcess, ScriptedServer, testParts } from './agents/testing.ts'
import { decide } from './failover/decide.ts'
import { isFollowing } from './failover/judge/situation.ts'
import { aSituation } from './failover/testing.ts'
import { failover } from './src/manager/clusters/operations/failover.ts'

const away = { server: { channel: null } }
const situation = aSituation({ spec: { mode: 'toy' }, views: { 'shop-1': away } })
console.log(decide(situation).sentence)
console.log('follows:', isFollowing(situation.snapshot.instances[1], situation))
const asking = { input: situation, situation: () => situation, mustBeAlone: () => undefined, cluster: {} }
console.log(String(failover(asking as never, { to: null, acceptLoss: true } as never).would.sentence))
const process0 = new ScriptedProcess()
const parts = await testParts(new ScriptedServer(aServerState()), { process: process0 })
const config = { ...parts.config, mode: 'toy' as const }
const toy = { ...parts, config, answersAlone: answersAloneIn('toy') }
await toy.file.update({ promise: 3, revision: 10, assignment: primaryOfEpoch3 })
const converger = new Converger(toy, () => undefined)
await converger.pass()
console.log(toy.course.converged.sentence)
console.log('ending unseen:', isEndingUnseen({ ...toy, process: { ...process0, state: 'dead' } as never }))
await toy.file.update({ assignment: replicaOfEpoch3 })
const desk = new OrderDesk({ parts: toy, converger, seeding: new Seeding(toy, converger) }, {} as never)
const { member, cluster, version } = replicaOfEpoch3
const order = { member: member.replace(/@.*/, '@' + toy.file.current.volume), cluster, version, epoch: 3, revision: 10, destroys: '' }
await desk.obey('reseed', order as never).catch((error: Error) => console.log(error.message))
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
    await edit('agents/converge/mode-of.ts', 'semisync: Semisync,', 'semisync: Semisync,\n  toy: Toy,')
    await edit('agents/converge/mode-of.ts', 'import', `import { Toy } from '../toy/toy.ts'\nimport`)
    expect(await wrongFiles()).toEqual([])
    await put('play.ts', plays)
    const { stdout, stderr } = await runCommand([process.execPath, join(folder, 'play.ts')], {
      deadlineMs: 60_000,
    })
    expect(stderr).toBe('')
    expect(stdout.trim().split('\n')).toEqual([
      'a toy decides nothing',
      'follows: true',
      'would fail over: a toy judges by itself; writes that only shop-0 hold would be given up',
      'a toy converges at once',
      'ending unseen: false',
      expect.stringMatching(/a toy keeps its data$/),
    ])
  }, 600_000)
})
