import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { mhaConfig, routeScript } from './config.ts'

it('MHA’s configuration has one section for each host, and says the ping interval and by which key SSH goes', () => {
  const config = mhaConfig({
    hosts: ['127.24.200.1', '127.24.200.2'],
    pingSeconds: 1,
    account: { user: 'mha', password: 'one' },
    replication: { user: 'repl', password: 'two' },
    ssh: { user: 'root', keyFile: '/w/id', knownHostsFile: '/w/known_hosts' },
    workFolder: '/w/work',
    logFile: '/w/manager.log',
    ipScript: '/w/route',
  })
  expect(config).toBe(`[server default]
user=mha
password=one
repl_user=repl
repl_password=two
ssh_user=root
ssh_options=-F /dev/null -i /w/id -o UserKnownHostsFile=/w/known_hosts
ping_interval=1
manager_workdir=/w/work
manager_log=/w/manager.log
master_ip_failover_script=/w/route

[server1]
hostname=127.24.200.1

[server2]
hostname=127.24.200.2
`)
})

it('The script that MHA calls tells clients of a master once that starts, and of nobody before', () => {
  const folder = mkdtempSync(join(tmpdir(), 'regent-mha-route-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const routes = join(folder, 'routes.json')
  const script = join(folder, 'route')
  writeFileSync(script, routeScript(routes))
  writeFileSync(routes, 'as before')
  const called = (...words: readonly string[]) => spawnSync('sh', [script, ...words]).status
  const old = ['--orig_master_host=a', '--orig_master_ip=127.24.200.1', '--orig_master_port=3306']
  for (const command of ['status', 'stop', 'stopssh']) {
    expect(called(...old, `--command=${command}`, '--ssh_user=root')).toBe(0)
    expect(readFileSync(routes, 'utf8')).toBe('as before')
  }
  const next = ['--new_master_host=b', '--new_master_ip=127.24.200.2', '--new_master_port=3307']
  expect(called('--command=start', ...old, ...next, "--ssh_options='-o BatchMode=yes'")).toBe(0)
  expect(JSON.parse(readFileSync(routes, 'utf8'))).toEqual({ primary: { host: '127.24.200.2', port: 3307 } })
})
