import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { carriesToken, readTokenFile } from './bearer-token.ts'

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-token-'))
})

afterAll(async () => {
  await rm(folder, { recursive: true })
})

async function fileWith(text: string, mode = 0o600): Promise<string> {
  const path = join(folder, `${Math.random()}`)
  await writeFile(path, text, { mode })
  return path
}

describe('a token file', () => {
  it('gives its token without the white space around it', async () => {
    expect(await readTokenFile(await fileWith('0123456789abcdef\n'))).toBe('0123456789abcdef')
  })

  it.each([
    ['is readable by its group', '0123456789abcdef', 0o640, 'chmod 600'],
    ['is readable by everybody', '0123456789abcdef', 0o604, 'mode 604'],
    ['is empty', '\n', 0o600, 'holds 0 characters'],
    ['holds too little', 'short', 0o600, 'holds 5 characters'],
    ['holds too much', 'x'.repeat(5_000), 0o600, 'a token has 16 to 1024'],
    ['holds two words', '01234567 89abcdef', 0o600, 'white space'],
    ['holds what is no ASCII', '0123456789abcdefé', 0o600, 'visible ASCII'],
  ])('is refused when it %s', async (_, text, mode, says) => {
    const path = await fileWith(text, mode)
    const error: unknown = await readTokenFile(path).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'REGENT_BAD_FILE', message: expect.stringContaining(says) as string })
    expect((error as Error).message).toContain(path)
    expect((error as Error).message).not.toContain('0123456789abcdef')
  })

  it.runIf(process.getuid?.() === 0)(
    'may be readable by its group where it is somebody else’s, as a Secret in a pod is, and by nobody besides',
    async () => {
      const path = await fileWith('0123456789abcdef')
      await chown(path, 65_532, 0)
      await chmod(path, 0o440)
      expect(await readTokenFile(path)).toBe('0123456789abcdef')
      for (const mode of [0o460, 0o444]) {
        await chmod(path, mode)
        await expect(readTokenFile(path)).rejects.toMatchObject({ code: 'REGENT_BAD_FILE' })
      }
    },
  )

  it('is refused with its path when it is missing or a folder', async () => {
    await expect(readTokenFile(join(folder, 'absent'))).rejects.toMatchObject({ code: 'REGENT_BAD_FILE' })
    await expect(readTokenFile(folder)).rejects.toMatchObject({ code: 'REGENT_BAD_FILE' })
  })
})

describe('an Authorization header', () => {
  it.each(['Bearer right-token', 'bearer right-token', 'Bearer  right-token '])('carries the token: "%s"', (header) => {
    expect(carriesToken(header, 'right-token')).toBe(true)
  })

  it.each([
    undefined,
    '',
    'Bearer',
    'Bearer ',
    'right-token',
    'Basic right-token',
    'Bearer wrong-token',
    'Bearer right-token2',
    'Bearer right-token right-token',
  ])('does not carry the token: %s', (header) => {
    expect(carriesToken(header, 'right-token')).toBe(false)
  })

  it('never matches an empty token', () => {
    expect(carriesToken(undefined, '')).toBe(false)
  })
})
