import { readdir } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { temporaryFolder } from '#local/testing.ts'
import { adoptedFolder, forgetAdoption, keepAdoption, keepPassword, prepareFolder } from './adopted-folder.ts'
import { checkAdoption } from './adoption.ts'
import { leftoversIn } from './trees/leftover.ts'

it('Who is watched no more leaves the password that another cluster logs in by, and the last one takes it', async () => {
  const folder = adoptedFolder(await temporaryFolder())
  await prepareFolder(folder)
  const passwordFile = await keepPassword(folder, 'shop.mysql', 'secret')
  await keepPassword(folder, 'shop.replication', 'secret')
  for (const [at, cluster] of ['shop', 'db1'].entries()) {
    const mysql = { user: 'regent', passwordFile }
    await keepAdoption(folder, checkAdoption('it', { version: 1, cluster, hosts: [`10.0.0.${at}`], mysql }))
  }
  await forgetAdoption(folder, 'shop')
  expect(await readdir(folder.secrets)).toEqual(['api-token', 'shop.mysql'])
  await forgetAdoption(folder, 'db1')
  expect(await readdir(folder.secrets)).toEqual(['api-token'])
})

it('Who is watched no more leaves no change that has ended in the middle: nobody finishes that at servers adopted anew', async () => {
  const folder = adoptedFolder(await temporaryFolder())
  await prepareFolder(folder)
  const mysql = { user: 'regent', passwordFile: '/p' }
  const leftovers = leftoversIn(folder.trees)
  for (const cluster of ['shop', 'db1']) {
    await keepAdoption(folder, checkAdoption('it', { version: 1, cluster, hosts: ['10.0.0.1'], mysql }))
    await leftovers.keep(cluster, { steps: [{ do: 'start', at: `${cluster}-0` }] })
  }
  await forgetAdoption(folder, 'shop')
  expect(await leftovers.read('shop')).toBeNull()
  expect(await leftovers.read('db1')).not.toBeNull()
})
