import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runCommand } from '#common/process/run-command.ts'
import { copyWithToy, nameToyInSwitches, switches } from '../../support/toy-mode.ts'

/**
 * What the compiler complains of, by file, besides that the folder of tests was not copied. Throws where the compiler
 * says nothing and fails.
 */
async function complaintsIn(folder: string): Promise<Readonly<Record<string, string>>> {
  const compiler = join(import.meta.dirname, '..', '..', '..', 'node_modules', 'typescript', 'bin', 'tsc')
  const options = ['--noEmit', '--incremental', '--tsBuildInfoFile', join(folder, 'info'), '--pretty', 'false']
  const { ok, stdout, failure } = await runCommand(
    [process.execPath, compiler, '--project', join(folder, 'tsconfig.json'), ...options],
    { deadlineMs: 300_000 },
  )
  const found = [...stdout.matchAll(/^([^ (]+)\(\d+,\d+\): error (.*)/gm)]
  if (!ok && found.length === 0) throw new Error(failure)
  const ofProduct = found.filter(([, , words = '']) => !words.includes(`'#test/`))
  return Object.fromEntries(ofProduct.map(([, file = '', words = '']) => [relative(folder, file), words]))
}

describe('A new mode is a folder in failover/ and one in agents/', () => {
  it('which two switches must name, and nothing else', async () => {
    const folder = await copyWithToy()
    const words: unknown = expect.any(String)
    expect(await complaintsIn(folder)).toEqual(Object.fromEntries(switches.map((file) => [file, words])))
    await nameToyInSwitches(folder)
    expect(await complaintsIn(folder)).toEqual({})
  }, 600_000)
})
