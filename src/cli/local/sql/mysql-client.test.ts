import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { volumeLayout } from '#agents/instance/volume-layout.ts'
import { ensureSecrets, readSecret } from '#local/folder/secrets.ts'
import { layoutOf } from '#local/folder/state-layout.ts'
import { processesEndingWith } from '#local/processes/cluster-processes.ts'
import { clusterIn, temporaryFolder } from '#local/testing.ts'
import { runClient, type ClientProgram } from './mysql-client.ts'

/** Clients that only write down how they were called, beside each other. */
async function shop() {
  const dir = await temporaryFolder()
  const layout = layoutOf(dir)
  await ensureSecrets(layout)
  await mkdir(layout.run, { recursive: true })
  for (const program of ['mysql', 'mysqldump']) {
    const path = join(dir, program)
    await writeFile(
      path,
      `#!/bin/sh\nfor word; do case $word in --defaults-file=*) file=\${word#*=};; esac; done\necho "$0 $*"\nstat -c 'mode %a' "$file"\ncat "$file"\n`,
    )
    await chmod(path, 0o700)
  }
  const cluster = clusterIn(dir)
  const [instance = expect.fail('an instance')] = cluster.instances
  return {
    dir,
    layout,
    instance,
    found: { dir, cluster: { ...cluster, mysql: { ...cluster.mysql, mysql: [join(dir, 'mysql')] } } },
  }
}

test.each<ClientProgram>(['mysql', 'mysqldump'])(
  '%s logs in through the socket on the instance’s own volume, never at an address that another cluster may have now',
  async (program) => {
    const { dir, layout, instance, found } = await shop()
    const { code, output } = await runClient(found, instance, {
      program,
      parameters: ['--batch'],
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [called = '', ...options] = output.trim().split('\n')
    const password = await readSecret(layout.adminPassword)
    expect(code).toBe(0)
    expect(called).toMatch(new RegExp(`^${join(dir, program)} --defaults-file=\\S+ --batch$`))
    expect(options).toEqual([
      'mode 600',
      '[client]',
      'user=admin',
      `password="${password}"`,
      'protocol=socket',
      `socket="${volumeLayout(instance.volume).socket}"`,
    ])
    expect(called).not.toContain(password)
    expect(output).not.toContain(instance.address)
    expect((await readdir(layout.run)).filter((name) => name.startsWith('sql-'))).toEqual([])
  },
)

test('where there is no mysqldump beside the client, that is said', async () => {
  const { instance, found } = await shop()
  const mysql = { ...found.cluster.mysql, mysql: ['/nowhere/mysql'] }
  const run = runClient({ ...found, cluster: { ...found.cluster, mysql } }, instance, {
    program: 'mysqldump',
    parameters: [],
    stdio: 'ignore',
  })
  await expect(run).rejects.toMatchObject({
    code: 'REGENT_MYSQL_MISSING',
    message: expect.stringContaining('no mysqldump beside /nowhere/mysql') as string,
  })
})

test.each<NodeJS.Signals>(['SIGTERM', 'SIGHUP'])(
  '%s ends the client, and leaves no file with a password',
  async (signal) => {
    const { dir, layout, instance, found } = await shop()
    await writeFile(join(dir, 'mysql'), '#!/bin/sh\nexec sleep 60\n')
    const run = runClient(found, instance, { program: 'mysql', parameters: [], stdio: ['ignore', 'pipe', 'inherit'] })
    await vi.waitFor(() => expect(process.listenerCount(signal)).toBeGreaterThan(0))
    await vi.waitFor(async () => expect(await processesEndingWith(['sleep', '60'])).not.toEqual([]))
    process.emit(signal, signal)
    expect((await run).code).toBe(128 + constants.signals[signal])
    expect((await readdir(layout.run)).filter((name) => name.startsWith('sql-'))).toEqual([])
    expect(process.listenerCount(signal)).toBe(0)
  },
  5_000,
)

test('at servers that were adopted no client is run, and that is said', async () => {
  const { found, instance } = await shop()
  const mysql = { ...found.cluster.mysql, mysql: [] }
  const far = { dir: found.dir, cluster: { ...found.cluster, far: true as const, mysql } }
  for (const program of ['mysql', 'mysqldump'] as const)
    await expect(runClient(far, instance, { program, parameters: [], stdio: 'ignore' })).rejects.toMatchObject({
      code: 'REGENT_REFUSED',
      message: expect.stringContaining('the servers of shop are somewhere else') as string,
    })
})
