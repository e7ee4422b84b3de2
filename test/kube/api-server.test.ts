import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { processesNaming } from '../support/leftovers.ts'
import { ApiServer } from './api-server.ts'
import { findControlPlane } from './control-plane-programs.ts'

describe('Kubernetes’ programs', () => {
  /** A folder with programs of these names, which do nothing. */
  async function folderOf(...names: string[]): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'regent-programs-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    await mkdir(join(folder, 'bin'))
    for (const name of names) {
      await writeFile(join(folder, 'bin', name), '')
      await chmod(join(folder, 'bin', name), 0o755)
    }
    return folder
  }
  const programsIn = (folder: string) => ({
    etcd: join(folder, 'bin/etcd'),
    kubeApiserver: join(folder, 'bin/kube-apiserver'),
  })

  it('are those of the folder that is named, else those on PATH, else those that were built', async () => {
    const [named, onPath, built] = [
      await folderOf('etcd', 'kube-apiserver'),
      await folderOf('etcd', 'kube-apiserver'),
      await folderOf('etcd', 'kube-apiserver'),
    ]
    const env = { KUBEBUILDER_ASSETS: join(named, 'bin'), PATH: join(onPath, 'bin'), REGENT_KUBE_HOME: built }
    expect(await findControlPlane(env)).toEqual(programsIn(named))
    expect(await findControlPlane({ ...env, KUBEBUILDER_ASSETS: '' })).toEqual(programsIn(onPath))
    expect(await findControlPlane({ ...env, KUBEBUILDER_ASSETS: '', PATH: '' })).toEqual(programsIn(built))
  })

  it('are missing where there is only one of the two', async () => {
    expect(await findControlPlane({ PATH: '', REGENT_KUBE_HOME: await folderOf('etcd') })).toBeUndefined()
  })
})

describe.skipIf(inject('kube') === null)('An API server of the tests', () => {
  it('leaves no process and no file behind', async () => {
    const server = await ApiServer.start(
      inject('kube')?.programs ?? expect.fail('only asked for where the programs are'),
    )
    const folder = dirname(server.access.kubeconfig)
    expect((await processesNaming(folder)).length).toBeGreaterThanOrEqual(2)
    await server.end()
    expect(await processesNaming(folder)).toEqual([])
    await expect(stat(folder)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('that cannot start says what it said', async () => {
    const { programs } = inject('kube') ?? expect.fail('only asked for where the programs are')
    await expect(ApiServer.start(programs, ['--no-such-flag'])).rejects.toThrow(
      /kube-apiserver ended with 1; it said: .*unknown flag: --no-such-flag/s,
    )
  })
})
