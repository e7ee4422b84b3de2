import { mkdir, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { instancesFor, readCluster, readClusterIfThere, writeCluster } from './cluster-file.ts'
import { layoutOf } from './state-layout.ts'
import { clusterIn, temporaryFolder } from '../testing.ts'

describe('the description of a local cluster', () => {
  test('is read back as it was written', async () => {
    const dir = await temporaryFolder()
    await writeCluster(dir, clusterIn(dir))
    expect(await readCluster(dir)).toEqual(clusterIn(dir))
  })

  test('of a folder that was moved names the volumes there, and none where the folder was', async () => {
    const dir = await temporaryFolder()
    await writeCluster(dir, clusterIn('/state/before'))
    expect((await readCluster(dir)).instances).toEqual(clusterIn(dir).instances)
  })

  test('is undefined where there is none', async () => {
    const dir = await temporaryFolder()
    expect(await readClusterIfThere(dir)).toBeUndefined()
    await expect(readCluster(dir)).rejects.toMatchObject({ code: 'REGENT_NOT_FOUND' })
  })

  const refusals: readonly (readonly [string, string, string])[] = [
    ['written by a newer Regent', '{"version": 2}', 'REGENT_NEWER_VERSION'],
    ['not JSON', '{', 'REGENT_BAD_FILE'],
    ['empty', '', 'REGENT_BAD_FILE'],
    ['lacking fields', '{"version": 1}', 'REGENT_BAD_FILE'],
    ['no object', '7', 'REGENT_BAD_FILE'],
  ]
  test.each(refusals)('is refused when it is %s', async (_what, content, code) => {
    const dir = await temporaryFolder()
    await mkdir(dir, { recursive: true })
    await writeFile(layoutOf(dir).cluster, content)
    await expect(readCluster(dir)).rejects.toMatchObject({ code })
  })

  test('gives every instance an address of its own and the same ports', () => {
    expect(instancesFor('/state', { name: 'shop', number: 7, hosts: [] }, 2)).toEqual([
      {
        name: 'shop-0',
        address: '127.24.7.1',
        port: 3306,
        adminPort: 3307,
        agentPort: 9400,
        volume: '/state/instances/shop-0',
        wrapper: [],
      },
      {
        name: 'shop-1',
        address: '127.24.7.2',
        port: 3306,
        adminPort: 3307,
        agentPort: 9400,
        volume: '/state/instances/shop-1',
        wrapper: [],
      },
    ])
  })

  test('takes addresses from --hosts, and refuses more instances than those', () => {
    const hosts = [{ address: '10.1.0.1', wrapper: ['wrap'] }]
    expect(instancesFor('/state', { name: 'shop', number: 7, hosts }, 1)[0]).toMatchObject({
      address: '10.1.0.1',
      wrapper: ['wrap'],
    })
    expect(() => instancesFor('/state', { name: 'shop', number: 7, hosts }, 2)).toThrow(
      /naming 1 address, which is too few for 2 instances/,
    )
  })
})
