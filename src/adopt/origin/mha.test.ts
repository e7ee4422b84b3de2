import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { labelOf } from '#failover/protocol/hook.ts'
import { fileWith, temporaryFolder } from '#local/testing.ts'
import { adoptedFolder } from '../adopted-folder.ts'
import { hooksOfMha } from './mha-hooks.ts'
import { composeAdoption, parseMha, readMha } from './mha.ts'

const keys = { keyFile: '/home/.ssh/id', knownHostsFile: '/home/.ssh/known_hosts', file: '/etc/mha/app1.cnf' }

const text = `
[server default]
user=mha
password=se cret
repl_user=repl
repl_password=other
ssh_user=mysql
# a remark
secondary_check_script=masterha_secondary_check -s remote1
[server10]
hostname=db3
no_master=1
[server1]
hostname=db1
ip=10.0.0.1
port=3307
candidate_master=1
user=own
[binlog1]
hostname=logs
`

function composed() {
  return composeAdoption('shop', parseMha('app1.cnf', text), keys)
}

describe('A file of MHA', () => {
  it('becomes an adoption, its servers in the order of their numbers', () => {
    const { value, passwords } = composed()
    expect(value).toMatchObject({
      mysql: { user: 'mha', passwordFile: 'shop.mysql' },
      replication: { user: 'repl', passwordFile: 'shop.replication' },
      ssh: { user: 'mysql', port: 22, keyFile: '/home/.ssh/id' },
      hosts: [
        { host: 'db1', port: 3307, alsoKnownAs: ['10.0.0.1'], promotion: 'prefer', mysql: { user: 'own' } },
        { host: 'db3', port: 3306, promotion: 'never' },
      ],
    })
    expect([...passwords]).toEqual([
      ['shop.mysql', 'se cret'],
      ['shop.replication', 'other'],
      ['shop.server1.mysql', 'se cret'],
    ])
  })

  it('has the key and the known hosts that its options of ssh name', () => {
    const options = 'ssh_options="-o StrictHostKeyChecking=no -i /etc/mha/id -o UserKnownHostsFile=/etc/mha/known"'
    const { value } = composeAdoption('shop', parseMha('app1.cnf', `${text}\n[server default]\n${options}\n`), keys)
    expect(value).toMatchObject({ ssh: { keyFile: '/etc/mha/id', knownHostsFile: '/etc/mha/known' } })
  })

  it('has no ssh where there is no key', () => {
    const { value } = composeAdoption('shop', parseMha('app1.cnf', text), { ...keys, keyFile: undefined })
    expect(value).not.toHaveProperty('ssh')
  })

  it.each([
    ['hostname=db1', 'has "hostname=…" in line 1; allowed are [section]'],
    ['[server default]\nhostname', 'has "hostname" in line 2'],
    ['[client]\nuser=x', 'has the section [client] in line 1; allowed are server default, server<n> and binlog<n>'],
  ])('%j is refused with the line', (wrong, words) => {
    expect(() => parseMha('app1.cnf', wrong)).toThrow(words)
  })

  it('has remarks of both kinds, and shows no password that is misspelt', async () => {
    expect(parseMha('app1.cnf', `; a remark\n${text}`)).toHaveLength(parseMha('app1.cnf', text).length)
    const wrong = (): unknown => parseMha('app1.cnf', '[server default]\nPassword=se cret\n')
    expect(wrong).toThrow('has "Password=…" in line 2')
    const folder = adoptedFolder(await temporaryFolder())
    const file = await fileWith(`${text}\n[server default]\nrepl_pasword=se cret\nmysql_passwd=se cret\n`)
    const { lines } = await readMha(file, { global: undefined, name: 'shop', folder })
    expect(lines.join('\n')).not.toContain('se cret')
  })

  it('is read with what is said for all clusters, keeps its passwords apart, and tells of each line', async () => {
    const folder = adoptedFolder(await temporaryFolder())
    const global = await fileWith('[server default]\nuser=all\nssh_user=root\n')
    const { adoption, lines } = await readMha(await fileWith(text), { global, name: 'shop', folder })
    expect(adoption.mysql?.user).toBe('mha')
    expect(await readFile(adoption.mysql?.passwordFile ?? '', 'utf8')).toBe('se cret\n')
    expect(lines.join('\n')).not.toContain('se cret')
    expect(lines).toHaveLength(parseMha('', text).length + 2 + (adoption.ssh === undefined ? 1 : 0))
    expect(lines.find((line) => line.includes('secondary_check_script'))).toContain('not needed: replicas testify')
    expect(lines.at(adoption.ssh === undefined ? -2 : -1)).toContain('servers that only keep binlogs are not asked')
  })

  it('without a server is refused', async () => {
    const folder = adoptedFolder(await temporaryFolder())
    const file = await fileWith('[server default]\nuser=x\n')
    await expect(readMha(file, { global: undefined, name: 'shop', folder })).rejects.toThrow('names no server')
  })

  it('has its scripts called as hooks, as MHA calls them', async () => {
    const folder = adoptedFolder(await temporaryFolder())
    const scripts = `[server default]
master_ip_failover_script=/usr/local/bin/master_ip_failover --vip=10.0.0.9
master_ip_online_change_script=/usr/local/bin/master_ip_online_change
report_script=/usr/local/bin/report
shutdown_script=/usr/local/bin/power_manager
[server1]
report_script=/usr/local/bin/own
`
    const file = await fileWith(`${text}${scripts}`)
    const { adoption, lines } = await readMha(file, { global: undefined, name: 'shop', folder })
    const { hooks = {} } = adoption
    expect(Object.entries(hooks).map(([moment, all]) => [moment, all.map(labelOf)])).toEqual([
      ['beforeFailover', ['master_ip_failover']],
      ['afterFailover', ['master_ip_failover', 'report']],
      ['failed', ['master_ip_failover', 'report']],
      ['beforeSwitchover', ['test']],
      ['afterSwitchover', ['test']],
      ['powerOff', ['power_manager']],
    ])
    expect(hooks.afterFailover?.[0]?.shell).toContain('/master_ip_failover --vip=10.0.0.9 --command=$(')
    const said = (key: string) => lines.filter((line) => line.includes(key)).map((line) => line.split(/  [→–]  /)[1])
    expect(said('master_ip_failover_script')).toEqual([expect.stringContaining('hooks.beforeFailover')])
    expect(said('report_script')).toEqual([
      expect.stringContaining('hooks.afterFailover'),
      'not taken: only a script below [server default] becomes a hook; write a hook by hand',
    ])
    expect(said('shutdown_script')).toEqual([expect.stringContaining('hooks.powerOff (--command=stop)')])
  })

  it('that moves no address at a switchover is told so', async () => {
    const folder = adoptedFolder(await temporaryFolder())
    const file = await fileWith(`${text}[server default]\nmaster_ip_failover_script=/bin/vip {x}\n`)
    const wrong = await readMha(file, { global: undefined, name: 'shop', folder })
    expect(wrong.adoption).not.toHaveProperty('hooks')
    expect(wrong.lines.join('\n')).toContain('a hook would take {x} for a placeholder')
    const right = await fileWith(`${text}[server default]\nmaster_ip_failover_script=/bin/vip\n`)
    const { lines } = await readMha(right, { global: undefined, name: 'shop', folder })
    expect(lines.at(-1)).toContain('no address moves at a switchover')
  })

  it('has scripts that move nothing when hooks are only tried, and may end with MHA’s code for success', async () => {
    const script = await fileWith('echo "$@"; exit 10')
    const hooks = hooksOfMha({ master_ip_failover_script: `sh ${script}`, ssh_user: 'mysql' }, '/etc/app1.cnf')
    const told = { PATH: process.env['PATH'], REGENT_FAILED_HOST: 'db1', REGENT_FAILED_PORT: '3306' }
    const ran = (moment: 'beforeFailover' | 'afterFailover' | 'failed', isTest: boolean) =>
      execFileSync('sh', ['-c', hooks?.[moment]?.[0]?.shell ?? ''], {
        env: { ...told, REGENT_TEST: String(isTest), REGENT_SUCCESSOR_HOST: 'db2', REGENT_SUCCESSOR_PORT: '3307' },
        encoding: 'utf8',
      })
    const orig = '--ssh_user=mysql --orig_master_host=db1 --orig_master_ip=db1 --orig_master_port=3306'
    expect(ran('beforeFailover', false)).toBe(`--command=stop ${orig}\n`)
    expect(ran('beforeFailover', true)).toBe(`--command=status ${orig}\n`)
    const to = (host: string, port: number) =>
      `--new_master_host=${host} --new_master_ip=${host} --new_master_port=${port}`
    expect(ran('afterFailover', false)).toBe(`--command=start ${orig} ${to('db2', 3307)}\n`)
    expect(ran('failed', false)).toBe(`--command=start ${orig} ${to('db1', 3306)}\n`)
  })
})
