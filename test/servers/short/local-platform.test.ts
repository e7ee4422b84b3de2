import { spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { LocalStatus } from '#cli/local/show/status.ts'
import { runRegent } from '#test/support/cluster.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { patienceMs } from '#test/support/patience.ts'

const bin = join(import.meta.dirname, '../..', '..', 'bin', 'regent')

async function homeFolder(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'regent-'))
  onTestFinished(() => rm(home, { recursive: true, force: true }))
  return home
}

describe('a cluster on this machine', () => {
  const shop = withCluster()

  it('says how to connect and who is who', async () => {
    const cluster = shop.current
    const said = async (...words: readonly string[]) => (await cluster.regent(...words)).stdout
    const status = async () => JSON.parse(await said('local', 'status', '-o', 'json')) as LocalStatus
    // On a busy machine the agent of the primary is not heard for a moment, and nobody knows then.
    const patience = { timeout: patienceMs, interval: 200 }
    await expect.poll(status, patience).toMatchObject({
      name: 'shop',
      state: 'up',
      writable: true,
      client: { user: 'client' },
      primary: { instance: await cluster.primary() },
    })
    const { instances } = await status()
    expect(instances.map((one) => one.role).sort()).toEqual(['primary', 'replica', 'replica'])
    for (const one of instances) for (const pid of [one.pid, one.agentPid]) expect(pid).toBeGreaterThan(1)
    await expect.poll(() => said('local', 'list'), patience).toMatch(/shop +up +yes/)
    await expect
      .poll(() => said('topology'), patience)
      .toMatch(/^shop {2}semisync {2}epoch \d+ {2}WRITABLE {2}primary shop-\d/)
  })

  it('is up: a second up says so and changes nothing, and one that asks for something else is refused', async () => {
    const before = await shop.current.status()
    const again = await shop.current.regent('local', 'up', 'shop')
    expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining('shop is up already') as string })
    expect(await shop.current.regent('local', 'up', 'shop', '--instances', '5')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('regent local scale shop 5') as string,
    })
    expect((await shop.current.status()).instances).toEqual(before.instances)
  })

  it('shows no password in the arguments of any of its processes', async () => {
    const cluster = shop.current
    const passwords = [(await cluster.login('client')).password, (await cluster.login('admin')).password]
    const lines = await Promise.all(
      (await readdir('/proc'))
        .filter((name) => /^\d+$/.test(name))
        .map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
    )
    const ours = lines.filter((line) => line.includes(cluster.layout.dir))
    expect(ours.length).toBeGreaterThanOrEqual(8)
    for (const password of passwords) expect(ours.filter((line) => line.includes(password))).toEqual([])
  })

  it('runs statements as admin that are piped into local sql or said there, and leaves no file behind', async () => {
    const cluster = shop.current
    const statement = 'SELECT CURRENT_USER(), @@GLOBAL.super_read_only;'
    const ran = async (piped: string, ...said: readonly string[]) => {
      const sql = spawn(bin, ['local', 'sql', 'shop', ...said], {
        stdio: ['pipe', 'pipe', 'inherit'],
        env: { ...process.env, REGENT_HOME: cluster.home },
      })
      sql.stdin.end(piped)
      let out = ''
      sql.stdout.setEncoding('utf8').on('data', (part: string) => (out += part))
      const code = await new Promise((resolve) => sql.once('close', resolve))
      return [code, out]
    }
    const answer = [0, expect.stringMatching(/admin@%\s+0/)]
    expect([await ran(statement), await ran('', '-e', statement)]).toEqual([answer, answer])
    expect((await readdir(cluster.layout.run)).filter((name) => name.startsWith('sql-'))).toEqual([])
  })

  it('starts a manager again that died, and goes on taking writes meanwhile', async () => {
    const cluster = shop.current
    const { managerPid } = await cluster.status()
    await cluster.signalManager('SIGKILL')
    const client = await cluster.session(primaryOf(await cluster.status()), 'client')
    await client.query('CREATE TABLE IF NOT EXISTS app.kept (id INT PRIMARY KEY)')
    await client.query('REPLACE INTO app.kept VALUES (1)')
    client.destroy()
    const status = await cluster.until('the manager is back', async () => {
      const now = await cluster.status()
      return now.managerPid !== null && now.writable === true && now
    })
    expect(status.managerPid).not.toBe(managerPid)
  })

  it('survives the end of its supervisor: an up takes its processes over without starting any again', async () => {
    const cluster = shop.current
    const before = await cluster.status()
    if (before.supervisorPid === null) throw new Error('no supervisor runs')
    process.kill(before.supervisorPid, 'SIGKILL')
    await cluster.until('the supervisor is gone', async () => (await cluster.status()).state === 'unsupervised')
    await cluster.upAgain()
    const after = await cluster.status()
    expect(after).toMatchObject({ state: 'up', managerPid: before.managerPid, instances: before.instances })
  })

  it('goes down with everything it ran, and comes back with its data', async () => {
    const cluster = shop.current
    const down = await cluster.regent('local', 'down', 'shop')
    expect(down).toMatchObject({ code: 0, stdout: expect.stringContaining('its data stays in') as string })
    const status = await cluster.status()
    expect(status).toMatchObject({ state: 'down', managerPid: null })
    for (const one of status.instances) expect([one.pid, one.agentPid]).toEqual([null, null])
    await cluster.upAgain()
    expect(await cluster.value(await cluster.primary(), 'SELECT COUNT(*) FROM app.kept')).toBe('1')
  })
})

describe('a cluster that cannot start', () => {
  it('is refused before anything is made where its MySQL is no MySQL', async () => {
    const home = await homeFolder()
    const before = process.env['REGENT_MYSQLD']
    process.env['REGENT_MYSQLD'] = '/bin/true'
    onTestFinished(() => {
      if (before === undefined) delete process.env['REGENT_MYSQLD']
      else process.env['REGENT_MYSQLD'] = before
    })
    const ran = await runRegent(home, ['local', 'up', 'shop'], { deadlineMs: patienceMs })
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('REGENT_MYSQLD=/bin/true') as string })
    expect(await readdir(home)).toEqual(['lock'])
  })
})

function primaryOf(status: LocalStatus): string {
  if (status.primary === null) throw new Error('no primary is published')
  return status.primary.instance
}
