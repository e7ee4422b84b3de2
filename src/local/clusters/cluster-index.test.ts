import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { writeCluster } from '../folder/cluster-file.ts'
import { allClusters, findCluster, folderOf, rememberFolder } from './cluster-index.ts'
import { clusterIn, temporaryFolder } from '../testing.ts'

async function homeWith(...names: readonly string[]): Promise<string> {
  const home = await temporaryFolder()
  for (const name of names) await writeCluster(join(home, name), clusterIn(join(home, name), { name }))
  return home
}

describe('the clusters of this machine', () => {
  test('lie in the state home, or where --data put them until that is forgotten', async () => {
    const [home, elsewhere] = [await homeWith('shop'), await temporaryFolder()]
    expect(await folderOf('shop', home)).toBe(join(home, 'shop'))
    await writeCluster(elsewhere, clusterIn(elsewhere, { name: 'far' }))
    await rememberFolder('far', elsewhere, home)
    expect((await allClusters(() => undefined, home)).map((found) => found.cluster.name)).toEqual(['far', 'shop'])
    expect((await findCluster('far', home)).dir).toBe(elsewhere)
    await rememberFolder('far', undefined, home)
    expect(await folderOf('far', home)).toBe(join(home, 'far'))
  })

  test('are found by their name where their folder got another one', async () => {
    const home = await temporaryFolder()
    const moved = join(home, 'moved')
    await writeCluster(moved, clusterIn(moved))
    expect((await findCluster('shop', home)).dir).toBe(moved)
    expect((await findCluster('moved', home)).dir).toBe(moved)
    expect(await folderOf('shop', home)).toBe(moved)
  })

  test('of one name are called by their folders, of which the one with that name is meant by the name', async () => {
    const home = await homeWith('shop')
    const copy = join(home, 'copy')
    await writeCluster(copy, clusterIn(copy))
    expect((await findCluster('shop', home)).dir).toBe(join(home, 'shop'))
    await expect(findCluster(undefined, home)).rejects.toThrow('name one of them: copy, shop')
  })

  test('may be called as JavaScript calls a property that every object has', async () => {
    const home = await homeWith('constructor')
    expect(await folderOf('constructor', home)).toBe(join(home, 'constructor'))
    expect((await findCluster('constructor', home)).cluster.name).toBe('constructor')
  })

  test('need no name where there is only one', async () => {
    expect((await findCluster(undefined, await homeWith('shop'))).cluster.name).toBe('shop')
  })

  test('need a name where there are several, and are listed when it is missing or wrong', async () => {
    const home = await homeWith('shop', 'bank')
    await expect(findCluster(undefined, home)).rejects.toThrow('name one of them: bank, shop')
    await expect(findCluster('demo', home)).rejects.toThrow('there is no local cluster "demo"; there is: bank, shop')
    await expect(findCluster('../x', home)).rejects.toMatchObject({ code: 'REGENT_BAD_NAME' })
  })

  test('are told of with the way to make one where there is none', async () => {
    const error: unknown = await findCluster(undefined, join(await temporaryFolder(), 'none')).catch(
      (why: unknown) => why,
    )
    expect(error).toMatchObject({ message: expect.stringContaining('"regent local up" makes one') as string })
    expect(error instanceof RegentError && error.remedyIn('local')).toBe('')
  })

  test('leave out a folder that cannot be read, and say so', async () => {
    const home = await homeWith('shop')
    await mkdir(join(home, 'broken'))
    await writeFile(join(home, 'broken', 'cluster.json'), '{')
    const unreadable: string[] = []
    expect(await allClusters((dir) => unreadable.push(dir), home)).toHaveLength(1)
    expect(unreadable).toEqual([join(home, 'broken')])
  })
})
