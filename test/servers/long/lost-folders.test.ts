import { mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { processesOf } from '#local/processes/cluster-processes.ts'
import { runRegent } from '#test/support/cluster.ts'
import { freePort } from '#test/support/free-port.ts'

const deadlineMs = 120_000

/** A cluster of one, in a home of its own; whatever of it still runs is ended with the test. */
async function small(
  name: string,
  home: string,
  port: number,
  hosts?: string,
): Promise<{ readonly dir: string; readonly regent: (...words: readonly string[]) => ReturnType<typeof runRegent> }> {
  const regent = (...words: readonly string[]) => runRegent(home, words, { deadlineMs })
  const up = await regent(
    'local',
    'up',
    name,
    '--instances',
    '1',
    '--port',
    String(port),
    ...(hosts === undefined ? [] : ['--hosts', hosts]),
  )
  expect(up).toMatchObject({ code: 0 })
  return { dir: join(home, name), regent }
}

async function homeFolder(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'regent-'))
  onTestFinished(async () => {
    for (const name of await readdir(home)) await runRegent(home, ['local', 'down', name, '--purge'], { deadlineMs })
    await rm(home, { recursive: true, force: true })
  })
  return home
}

it('The secret of all passwords is never made anew over existing volumes, and whoever loses it is told what to do', async () => {
  const home = await homeFolder()
  const { dir, regent } = await small('shop', home, await freePort())
  const secret = join(dir, 'secrets', 'account-secret')
  await regent('local', 'down', 'shop')
  await rename(secret, `${secret}.kept`)
  const without = await regent('local', 'up', 'shop')
  expect(without).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /account-secret, is missing, and .* holds volumes: it is never made anew over them.*Put back a copy(.|\n)*REGENT_SECRET_LOST/,
    ) as string,
  })
  await writeFile(secret, 'another-secret\n')
  expect(await regent('local', 'up', 'shop')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is not the one that the volumes were made with') as string,
  })
  await rename(`${secret}.kept`, secret)
  expect(await regent('local', 'up', 'shop')).toMatchObject({ code: 0 })
  expect((await regent('local', 'sql', 'shop', '--file', '/dev/null')).code).toBe(0)
})

it('Processes whose cluster’s folder was removed are listed, keep a new one from its place, and are ended by local down', async () => {
  const home = await homeFolder()
  const { dir, regent } = await small('shop', home, await freePort())
  const other = await small('other', home, await freePort())
  const aside = join(home, '..', `${basename(home)}-aside`)
  await rename(dir, aside)
  await rm(aside, { recursive: true, force: true })
  const listed = await regent('local', 'list', '-o', 'json')
  expect((JSON.parse(listed.stdout) as { readonly clusters: unknown }).clusters).toMatchObject([
    { name: 'other', state: 'up', writable: true },
    { name: 'shop', state: 'orphaned', dir },
  ])
  expect(listed.stderr).toContain('"regent local down shop" ends what is left')
  expect(await regent('local', 'up', 'shop', '--port', String(await freePort()))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('processes of an earlier cluster run on') as string,
  })
  const ended = await regent('local', 'down', 'shop', '--purge')
  expect(ended).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^\d processes of shop, .* are ended/) as string,
  })
  expect(await processesOf(dir)).toEqual([])
  expect(await readdir(home)).not.toContain('shop')
  expect((await processesOf(other.dir)).map(({ kind }) => kind).sort()).toEqual([
    'agent',
    'manager',
    'mysqld',
    'supervisor',
  ])
})

it('One cluster whose files are damaged hides no other, and can still be ended', async () => {
  const home = await homeFolder()
  const { dir, regent } = await small('shop', home, await freePort())
  const sound = await small('sound', home, await freePort())
  await writeFile(join(home, 'index.json'), 'junk')
  for (const name of ['client-password', 'admin-password']) await rm(join(dir, 'secrets', name))
  await writeFile(join(dir, 'run', 'pids.json'), '[]')
  expect((await regent('local', 'list')).stdout).toMatch(/shop .*\n.*sound +up +yes/)
  await writeFile(join(dir, 'cluster.json'), '{}')
  const listed = await regent('local', 'list')
  expect(listed).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/sound +up +yes/) as string,
    stderr: expect.stringContaining(`${dir} is left out`) as string,
  })
  await rm(join(home, 'index.json'))
  expect(await regent('local', 'down', 'shop')).toMatchObject({ code: 0 })
  expect(await processesOf(dir)).toEqual([])
  expect((await processesOf(sound.dir)).length).toBe(4)
  await rm(dir, { recursive: true, force: true })
})

it('A cluster that is down neither believes nor logs in to another one that has its addresses now', async () => {
  const [home, elsewhere] = [await homeFolder(), await homeFolder()]
  const [port, hosts] = [await freePort(), join(home, '..', `${basename(home)}-hosts.yaml`)]
  onTestFinished(() => rm(hosts, { force: true }))
  await writeFile(hosts, `- address: 127.77.${1 + Math.floor(Math.random() * 250)}.1\n`)
  const mine = await small('shop', home, port, hosts)
  await mine.regent('local', 'down', 'shop')
  const other = await small('shop', elsewhere, port, hosts)
  const status = JSON.parse((await mine.regent('local', 'status', 'shop', '-o', 'json')).stdout) as unknown
  expect(status).toMatchObject({ state: 'down', writable: null, instances: [{ role: 'unknown', pid: null }] })
  expect(await mine.regent('topology', 'shop')).toMatchObject({
    code: 3,
    stderr: expect.stringContaining(`is held by the manager of the cluster in ${other.dir}`) as string,
  })
  const sql = await mine.regent('local', 'sql', 'shop', '--file', '/dev/null')
  expect(sql).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/Can't connect to local MySQL server through socket/) as string,
  })
  expect(await other.regent('local', 'sql', 'shop', '--file', '/dev/null')).toMatchObject({ code: 0 })
})
