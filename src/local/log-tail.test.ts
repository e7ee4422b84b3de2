import { mkdir, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { explainingLines, lastLines } from './log-tail.ts'
import { layoutOf, logPath } from './state-layout.ts'
import { temporaryFolder } from './testing.ts'

const line = (level: string, at: number, msg: string, error?: string) => JSON.stringify({ level, time: new Date(at).toISOString(), msg, ...(error === undefined ? {} : { err: { message: error } }) })

test('what explains a failed start are errors and crashes of this start, each once', async () => {
  const layout = layoutOf(await temporaryFolder())
  await mkdir(layout.logs)
  const lines = [line('error', 1000, 'old trouble'), 'old crash', line('info', 2000, 'older than the start'), line('info', 6000, 'begin'), line('error', 6001, 'cannot listen', 'EADDRINUSE'), line('error', 6002, 'cannot listen', 'EADDRINUSE'), 'Segmentation fault']
  await writeFile(logPath(layout, 'manager'), lines.join('\n'))
  expect(await explainingLines(layout, ['manager', 'shop-0'], 5000)).toEqual(['manager: cannot listen: EADDRINUSE', 'manager: Segmentation fault'])
  expect(await lastLines(logPath(layout, 'manager'), 1)).toEqual(['Segmentation fault'])
})
