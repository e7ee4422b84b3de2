import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '#test/support/bare-instance.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { Strangers, strangersPassword } from '#test/support/strangers.ts'
import { stopWriters, Writer } from '#test/support/writer.ts'

/** What a person does with three servers, MHA's file and an SSH key. */
describe('Three servers that MHA looked after', () => {
  let strangers: Strangers
  let file = ''

  beforeAll(async () => {
    strangers = await Strangers.start()
    file = join(strangers.home, 'app1.cnf')
    const servers = strangers.hosts.map(({ address }, at) => `[server${at + 1}]\nhostname=${address}\n`)
    const ssh = `-i ${join(strangers.home, 'id')} -o UserKnownHostsFile=${strangers.knownHostsFile}`
    const script = join(strangers.home, 'master_ip_failover')
    await writeFile(script, `#!/bin/sh\necho "$@" >> ${script}.runs\nexit 10\n`, { mode: 0o755 })
    await writeFile(
      file,
      `[server default]\nuser=keeper\npassword=${strangersPassword}\nrepl_user=repl\nrepl_password=${strangersPassword}
ssh_user=root\nssh_options="${ssh}"\nping_interval=1\nmaster_binlog_dir=/var/lib/mysql
master_ip_failover_script=${script}\n${servers.join('')}`,
    )
  })
  afterAll(async () => {
    await stopWriters()
    await strangers.end()
  })

  it('are watched by its file, managed by a word, and lose nothing when their master is killed: its script moves the address', async () => {
    const adopted = await strangers.regent('adopt', '--mha', file, '--name', 'shop')
    expect(adopted, adopted.stderr).toMatchObject({ code: 0 })
    expect(adopted.stdout).toContain('ping_interval')
    expect((await strangers.regent('topology', 'shop')).stdout).toContain('WRITABLE')
    // What MHA’s manager does where it watches.
    const mha = await strangers.hostOf('shop-0').root()
    await mha.query(`SELECT GET_LOCK('MHA_Master_High_Availability_Monitor', 10)`)
    const check = () => strangers.regent('adopt', 'manage', 'shop', '--check')
    expect(await check()).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('shop-0: MHA’s manager watches it') as string,
    })
    mha.destroy()
    await until(async () => (await check()).code === 0, 'MHA’s manager has ended')
    const cluster = await strangers.manage({ file: false })
    await cluster.whole()
    expect((await strangers.regent('adopt', 'manage', 'shop', '--check')).stderr).toContain(
      'there is a cluster shop in',
    )
    expect((await strangers.regent('hooks', 'test', 'shop')).stdout).toContain('3 of 3 hooks succeeded')
    const writer = await Writer.start(cluster)
    const killedMs = monotonicMs()
    const dead = await cluster.primary()
    await strangers.hostOf(dead).kill()
    await writer.next(killedMs, { notBy: strangers.hostOf(dead).address })
    await writer.stop()
    const [from, to] = [strangers.hostOf(dead).address, strangers.hostOf(await cluster.primary()).address]
    const orig = `--ssh_user=root --orig_master_host=${from} --orig_master_ip=${from} --orig_master_port=3306`
    const calls = [
      ...Array.from({ length: 3 }, () => expect.stringContaining('--command=status') as string),
      `--command=stop ${orig}`,
      `--command=start ${orig} --new_master_host=${to} --new_master_ip=${to} --new_master_port=3306`,
    ]
    const called = async () =>
      (await readFile(join(strangers.home, 'master_ip_failover.runs'), 'utf8')).trim().split('\n')
    await cluster.until('the script has moved the address', async () => (await called()).length === calls.length)
    expect(await called()).toEqual(calls)
    await cluster.until('it is said why the dead one stays down', async () =>
      (await strangers.regent('explain', 'shop')).stdout.includes('no start command'),
    )
    await strangers.hostOf(dead).start()
    await cluster.whole()
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })
})
