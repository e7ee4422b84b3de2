import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, beforeEach, afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { followCertificateFolder, type FolderParts } from '#common/tls/certificate-folder.ts'
import { realRandom, realWorld } from '#common/ports/real-world.ts'
import type { TlsMaterial } from '#common/tls/tls.ts'
import { issueAuthority, issueLeaf } from './issue.ts'

let first: TlsMaterial
let second: TlsMaterial
let folder: string

beforeAll(async () => {
  const moment = { wallMs: Date.now(), random: realRandom }
  const authority = await issueAuthority(86_400_000, moment)
  const make = async () => ({
    ...(await issueLeaf(authority, { dns: ['a.example'], purposes: ['server'], validMs: 3_600_000 }, moment)),
    ca: authority.cert,
  })
  first = await make()
  second = await make()
})

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-certificates-'))
})

afterEach(async () => {
  await rm(folder, { recursive: true })
})

async function write({ cert, key, ca }: TlsMaterial, into = folder): Promise<void> {
  await mkdir(into, { recursive: true })
  for (const [name, text] of [
    ['tls.crt', cert],
    ['tls.key', key],
    ['ca.crt', ca],
  ] as const)
    await writeFile(join(into, name), text)
}

/** As the kubelet does: files are links through `..data`, which is swapped. */
async function mount(material: TlsMaterial, version: string): Promise<void> {
  await write(material, join(folder, version))
  await symlink(version, join(folder, '..data_tmp'))
  await rename(join(folder, '..data_tmp'), join(folder, '..data'))
}

async function follow(parts: Partial<FolderParts> = {}) {
  const log = { info: vi.fn(), warn: vi.fn() }
  const followed = await followCertificateFolder({ folder, world: realWorld, log, checksPeers: true, ...parts })
  onTestFinished(() => followed.close())
  return { followed, log }
}

describe('a folder of certificates', () => {
  it('is followed when the kubelet swaps what it mounted', async () => {
    await mount(first, '..1')
    for (const name of ['tls.crt', 'tls.key', 'ca.crt']) await symlink(join('..data', name), join(folder, name))
    const { followed } = await follow()
    expect(followed.current()).toEqual(first)
    const changed = vi.fn()
    followed.onChange(changed)
    await mount(second, '..2')
    await vi.waitFor(() => expect(changed).toHaveBeenCalledWith(second), { timeout: 60_000 })
    expect(followed.current()).toEqual(second)
  })

  it('keeps what it had while a new certificate is there and its key is not', async () => {
    await write(first)
    const { followed, log } = await follow()
    await writeFile(join(folder, 'tls.crt'), second.cert)
    await vi.waitFor(
      () => expect(log.warn).toHaveBeenCalledWith(expect.stringContaining('tls.key is not the key of tls.crt')),
      { timeout: 60_000 },
    )
    expect(followed.current()).toEqual(first)
    await writeFile(join(folder, 'tls.key'), second.key)
    await vi.waitFor(() => expect(followed.current()).toEqual(second), { timeout: 60_000 })
  })

  it('is waited for as long as agreed', async () => {
    const { followed } = await follow({
      waitMs: 10_000,
      world: { ...realWorld, timers: { ...realWorld.timers, sleep: () => write(first) } },
    })
    expect(followed.current()).toEqual(first)
  })

  it.each<readonly [string, (material: TlsMaterial) => Partial<TlsMaterial>, string]>([
    ['the key is of another', () => ({ key: second.key }), 'tls.key is not the key of tls.crt'],
    ['the certificate is none', () => ({ cert: 'certificate' }), 'tls.crt or tls.key cannot be read'],
    ['the authority is none', () => ({ ca: 'authority' }), 'ca.crt cannot be read'],
    ['the authority is empty', () => ({ ca: '' }), 'ca.crt is empty'],
  ])('is refused where %s', async (_, spoil, says) => {
    await write({ ...first, ...spoil(first) })
    await expect(follow()).rejects.toMatchObject({
      code: 'REGENT_BAD_CERTIFICATE',
      message: expect.stringContaining(`${folder}: ${says}`) as string,
    })
  })

  it('is refused where a file is missing, but for the authority where nobody is checked', async () => {
    await write(first)
    await rm(join(folder, 'ca.crt'))
    await expect(follow()).rejects.toMatchObject({
      code: 'REGENT_BAD_CERTIFICATE',
      message: expect.stringContaining('ca.crt cannot be read') as string,
    })
    expect((await follow({ checksPeers: false })).followed.current()).toEqual({ ...first, ca: '' })
  })
})
