import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runCommand } from '#common/process/run-command.ts'
import { copyWithToy, nameToyInSwitches, switches } from '../../support/toy-mode.ts'

/** The files that do not type-check. Throws where the compiler says nothing and fails. */
async function wrongFiles(folder: string): Promise<readonly string[]> {
  const compiler = join(import.meta.dirname, '..', '..', '..', 'node_modules', 'typescript', 'bin', 'tsc')
  const options = ['--noEmit', '--incremental', '--tsBuildInfoFile', join(folder, 'info'), '--pretty', 'false']
  const { ok, stdout, failure } = await runCommand(
    [process.execPath, compiler, '--project', join(folder, 'tsconfig.json'), ...options],
    { deadlineMs: 300_000 },
  )
  const files = [...stdout.matchAll(/^([^ (]+)\(\d+,\d+\): error/gm)].map(([, file]) => relative(folder, file ?? ''))
  if (!ok && files.length === 0) throw new Error(failure)
  return [...new Set(files)].sort()
}

describe('A new mode is a folder in failover/ and one in agents/', () => {
  it('which two switches must name, and nothing else', async () => {
    const folder = await copyWithToy()
    expect(await wrongFiles(folder)).toEqual(switches)
    await nameToyInSwitches(folder)
    expect(await wrongFiles(folder)).toEqual([])
  }, 600_000)
})
