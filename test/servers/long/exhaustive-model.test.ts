import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCommand } from '#common/process/run-command.ts'

const sources = join(import.meta.dirname, '../..', 'model', 'exhaustive')
const compiler = ['g++', '-std=c++17', '-O2']
const { ok: hasCompiler } = await runCommand([...compiler, '--version'], { deadlineMs: 10_000 })
if (!hasCompiler) console.warn('exhaustive-model.test.ts is skipped: there is no g++')

/**
 * Small enough to be explored to the end within a minute on a busy core; `test/model/exhaustive/README.md` has larger
 * ones.
 */
const asTheRulesAre = {
  'one manager and one fault': '-N 3 -W 1 -E 2 -R 4 -C 1 -nm 1',
  'a stranger’s shutdown, a crash of a machine, and a switchover that gathers':
    '-gather -stop -reboot -W 1 -E 2 -R 3 -C 1 -nm 1',
  'two managers': '-N 3 -W 1 -E 2 -R 3 -C 0 -nm 2',
  'four instances and two acknowledgements': '-N 4 -k 2 -W 1 -E 2 -R 3 -C 0 -nm 1',
}

const usual = '-W 1 -E 2 -R 4 -C 1 -nm 1'
/** Each is found within seconds: `mutations.txt` has all of them. */
const takenAway: Readonly<Record<string, string>> = {
  READ_BEFORE_STOP: usual,
  QUORUM_LESS: usual,
  P_LIVE: usual,
  NO_SPRIME: usual,
  ADD_NO_EVID: usual,
  NO_ERRANT_CHECK: usual,
  LEAVE_UNMARKED: usual,
  NO_EPOCH_FENCE: '-W 2 -E 2 -R 4 -C 1 -nm 2',
  STOP_VIA_S: `${usual} -stop`,
  FORGOT_COUNTED: `${usual} -reboot`,
}

describe.skipIf(!hasCompiler)('The protocol, in every order of its steps within small bounds,', () => {
  let folder = ''
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'regent-model-'))
    const compiled = await runCommand([...compiler, '-o', join(folder, 'regent'), join(sources, 'regent.cpp')], {
      deadlineMs: 110_000,
    })
    expect(compiled).toMatchObject({ ok: true })
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  const explore = async (words: string): Promise<string> => {
    const ran = await runCommand([join(folder, 'regent'), ...words.split(' ')], { deadlineMs: 110_000 })
    return ran.stdout
  }

  it.each(Object.entries(asTheRulesAre))('loses nothing that was acknowledged, with %s', async (_, words) => {
    expect(await explore(words)).toMatch(/EXHAUSTIVE: \d+ states, .* no violation/)
  })

  it.each(Object.entries(takenAway))('breaks a rule of safety without %s', async (rule, words) => {
    expect(await explore(`${words} ${rule}`)).toMatch(/VIOLATION S[1-4]/)
  })
})
