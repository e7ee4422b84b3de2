import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ensureSecrets } from './secrets.ts'
import { layoutOf, volumeOf } from './state-layout.ts'
import { temporaryFolder } from '../testing.ts'

async function clusterWithSecrets(volumes: readonly string[] = []) {
  const layout = layoutOf(await temporaryFolder())
  await ensureSecrets(layout)
  for (const name of volumes) await mkdir(join(volumeOf(layout, name), 'data'), { recursive: true })
  return { layout, secret: () => readFile(layout.accountSecret, 'utf8') }
}

describe('the secret of all passwords', () => {
  test('is made once, and anew where no server knows it', async () => {
    const { layout, secret } = await clusterWithSecrets()
    const first = await secret()
    await ensureSecrets(layout)
    expect(await secret()).toBe(first)
    await rm(layout.accountSecret)
    await ensureSecrets(layout)
    expect(await secret()).not.toBe(first)
  })

  test('is never made anew over volumes, and it is said which file has to come back', async () => {
    const { layout, secret } = await clusterWithSecrets(['shop-1'])
    await rm(layout.accountSecret)
    const refusal = {
      code: 'REGENT_SECRET_LOST',
      message: expect.stringMatching(
        /account-secret, is missing.*never made anew over them.*Put back a copy of the file/,
      ) as string,
    }
    await expect(ensureSecrets(layout)).rejects.toMatchObject(refusal)
    await expect(secret()).rejects.toMatchObject({ code: 'ENOENT' })
  })

  test('that is another one is refused over volumes, and the passwords in files stay', async () => {
    const { layout } = await clusterWithSecrets(['shop-1'])
    const password = await readFile(layout.adminPassword, 'utf8')
    await writeFile(layout.accountSecret, 'another\n')
    await expect(ensureSecrets(layout)).rejects.toMatchObject({
      code: 'REGENT_SECRET_LOST',
      message: expect.stringContaining('is not the one that the volumes were made with') as string,
    })
    expect(await readFile(layout.adminPassword, 'utf8')).toBe(password)
  })
})
