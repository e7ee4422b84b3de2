import { execFile } from 'node:child_process'
import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '#local/testing.ts'
import { topology, type Ran } from '../testing.ts'
import { FakeKubernetes } from './testing.ts'
import { patienceMs } from '#test/support/patience.ts'

const script = join(import.meta.dirname, '../../../bin/kubectl-regent')

async function run(file: string, argv: readonly string[], env: Readonly<Record<string, string>>): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(file, argv, { env: { ...process.env, ...env }, timeout: patienceMs }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    )
  })
}

test('the plugin, also through a symbolic link, asks Kubernetes, takes kubectl’s options on both sides of the verb and ends when it has its answer', async () => {
  const fake = await FakeKubernetes.start()
  await fake.manager('regent-a', () => ({ status: 200, body: topology() }))
  const link = join(await temporaryFolder(), 'kubectl-regent')
  await symlink(script, link)
  const env = { KUBECONFIG: fake.kubeconfig }
  expect(await run(script, ['topology', 'shop', '-o', 'json'], env)).toMatchObject({ code: 0, err: '' })
  expect(
    await run(link, ['--context=main', '-n', 'other', 'topology', 'shop', '--manager-namespace', 'regent'], env),
  ).toMatchObject({ code: 0, err: '' })
  expect(fake.asked.map(({ path }) => path)).toEqual([
    '/api/v1/clusters/shops.shop/topology',
    '/api/v1/clusters/other.shop/topology',
  ])
})

test('the plugin keeps words with blanks whole, and calls itself what a person typed', async () => {
  const ran = await run(script, ['--context', 'no such context', 'topology'], {
    KUBECONFIG: (await FakeKubernetes.start()).kubeconfig,
  })
  expect(ran).toMatchObject({
    code: 1,
    err: expect.stringContaining('there is no context "no such context"') as string,
  })
  expect((await run(script, ['topology', '--help'], {})).out).toContain(
    'Usage: kubectl regent topology [options] [cluster]',
  )
})
