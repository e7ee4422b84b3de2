import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { credentialsIn } from './s3-credentials.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-credentials-'))
})

afterEach(() => rm(folder, { recursive: true }))

/** As the kubelet writes a Secret. */
async function mounted(version: string, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(join(folder, version))
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, version, name), text)
  await symlink(version, join(folder, '..data_tmp'))
  await rename(join(folder, '..data_tmp'), join(folder, '..data'))
}

describe('Credentials in a folder', () => {
  it('are read anew from a mounted Secret, of one version each time', async () => {
    await mounted('..v1', { accessKeyId: 'first', secretAccessKey: 's1\n' })
    expect(await credentialsIn(folder)).toMatchObject({ accessKeyId: 'first', secretAccessKey: 's1' })
    await mounted('..v2', { accessKeyId: 'second', secretAccessKey: 's2', sessionToken: 't2' })
    expect(await credentialsIn(folder)).toMatchObject({
      accessKeyId: 'second',
      secretAccessKey: 's2',
      sessionToken: 't2',
    })
  })

  it('that lack a file, or have one that cannot be, are refused by its name alone', async () => {
    await expect(credentialsIn(folder)).rejects.toMatchObject({
      code: 'REGENT_BACKUP_STORE',
      message: `Credentials of the store of backups: ${folder}/accessKeyId is not there: put the credentials of the store into that file.`,
    })
    await mounted('..v1', { accessKeyId: 'first', secretAccessKey: 'hun\nter2' })
    await expect(credentialsIn(folder)).rejects.toThrow(
      /secretAccessKey has spaces or other characters that no credential has/,
    )
    await expect(credentialsIn(folder)).rejects.not.toThrow(/ter2/)
    await writeFile(join(folder, '..v1', 'secretAccessKey'), '')
    await expect(credentialsIn(folder)).rejects.toThrow(/secretAccessKey is empty/)
    await rm(join(folder, '..v1', 'accessKeyId'))
    await mkdir(join(folder, '..v1', 'accessKeyId'))
    await expect(credentialsIn(folder)).rejects.toThrow(/accessKeyId cannot be read: it is a folder, not a file/)
  })
})
