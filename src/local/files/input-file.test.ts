import { expect, it } from 'vitest'
import { isMissing, readText } from './input-file.ts'
import type { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'

const refusal = (path: string) => readText(path, say`the file with the API’s token`).catch((error: unknown) => error)

it('Whatever is wrong with a file, the error names it', async () => {
  expect(await refusal('/proc/self/mem')).toMatchObject({
    code: 'REGENT_BAD_FILE',
    message: expect.stringContaining('the file with the API’s token, /proc/self/mem, cannot be read: EIO') as string,
  })
  expect(await refusal('/dev/full')).toMatchObject({
    code: 'REGENT_BAD_FILE',
    message: 'the file with the API’s token, /dev/full, cannot be read: it is larger than 1048576 bytes',
  })
  expect(await refusal('/proc')).toMatchObject({
    message: 'the file with the API’s token, /proc, cannot be read: it is a folder, not a file',
  })
  expect(isMissing(await refusal('/nonexistent'))).toBe(true)
})

it('Who gave the path of a file that cannot be read is told to look at the path, and not to correct a field', async () => {
  const remedies = await Promise.all(
    ['/nonexistent', '/proc', '/dev/null'].map(async (path) => (await refusal(path)) as RegentError),
  )
  expect(remedies.map((error) => error.remedyIn('local'))).toEqual([
    expect.stringContaining('Look at the path that the message names'),
    expect.stringContaining('Look at the path that the message names'),
    'Correct in that file what the message names, as the message allows.',
  ])
})
