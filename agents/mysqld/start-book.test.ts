import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { say } from '#common/sentence/sentence.ts'
import { volumeLayout } from '../instance/volume-layout.ts'
import { anAgentConfig } from '../testing.ts'
import { StartBook } from './start-book.ts'

it('Starts that do not come up are counted until one does; one whose mysqld was killed tells nothing', async () => {
  const volume = await mkdtemp(join(tmpdir(), 'regent-starts-'))
  onTestFinished(() => rm(volume, { recursive: true }))
  const layout = volumeLayout(volume)
  await mkdir(layout.agentDir, { recursive: true })
  const starts = new StartBook(anAgentConfig({ volume }), layout)
  const fails = async (byItself: boolean): Promise<number> => {
    await starts.begin()
    await starts.ended(say`mysqld 7 ended before it was up`, byItself)
    return starts.failures
  }
  expect([await fails(true), await fails(false), await fails(true)]).toEqual([1, 1, 2])
  await starts.begin()
  await starts.isReady()
  expect([starts.failed, starts.failures]).toEqual(['', 0])
  expect(await fails(true)).toBe(1)
})
