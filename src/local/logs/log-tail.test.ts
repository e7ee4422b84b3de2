import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { explainingLines, lastLines } from './log-tail.ts'
import { layoutOf, logPath } from '../folder/state-layout.ts'
import { temporaryFolder } from '../testing.ts'

const line = (level: string, at: number, msg: string, error?: string) =>
  JSON.stringify({
    level,
    time: new Date(at).toISOString(),
    msg,
    ...(error === undefined ? {} : { err: { message: error } }),
  })

test.each([0, 1, 950, 5_000, 10_000])(
  'the last %i lines of a log are as many, each whole, however long the log is',
  async (count) => {
    const path = join(await temporaryFolder(), 'manager.log')
    const lines = Array.from({ length: 7_000 }, (_, index) =>
      line('info', index, `line ${index} of a log that is longer than what is read at first`),
    )
    await writeFile(path, `${lines.join('\n')}\n`)
    expect(await lastLines(path, count)).toEqual(lines.slice(Math.max(0, lines.length - count)))
  },
)

test('a log that is not there has no lines', async () => {
  expect(await lastLines(join(await temporaryFolder(), 'manager.log'), 5)).toEqual([])
})

test('what explains a failed start are errors and crashes of this start, each once', async () => {
  const layout = layoutOf(await temporaryFolder())
  await mkdir(layout.logs)
  const lines = [
    line('error', 1000, 'old trouble'),
    'old crash',
    line('info', 2000, 'older than the start'),
    line('info', 6000, 'begin'),
    line('error', 6001, 'cannot listen', 'EADDRINUSE'),
    line('error', 6002, 'cannot listen', 'EADDRINUSE'),
    'Segmentation fault',
  ]
  await writeFile(logPath(layout, 'manager'), lines.join('\n'))
  expect(await explainingLines(layout, ['manager', 'shop-0'], 5000)).toEqual([
    'manager: cannot listen: EADDRINUSE',
    'manager: Segmentation fault',
  ])
  expect(await lastLines(logPath(layout, 'manager'), 1)).toEqual(['Segmentation fault'])
})
