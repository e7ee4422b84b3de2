import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { regentVersion } from '#common/version.ts'
import { temporaryFolder } from '#local/testing.ts'
import { httpServer, regent, topology, type Asked } from './testing.ts'

/** No cluster of this machine may play a part. */
async function emptyHome(): Promise<string> {
  const [home, before] = [await temporaryFolder(), process.env['REGENT_HOME']]
  process.env['REGENT_HOME'] = home
  onTestFinished(() => {
    if (before === undefined) delete process.env['REGENT_HOME']
    else process.env['REGENT_HOME'] = before
  })
  return home
}

async function tokenFile(): Promise<string> {
  const path = join(await temporaryFolder(), 'token')
  await writeFile(path, 'abc\n')
  return path
}

describe('the command line', () => {
  const usage: readonly (readonly [string, RegExp])[] = [
    ['frobnicate', /unknown command 'frobnicate'/],
    ['local', /Usage: regent local/],
    ['local up Demo', /lower-case letters/],
    ['local up -', /lower-case letters/],
    ['local up demo- ', /no dash last/],
    ['local up demo extra', /too many arguments/],
    ['local up --instances 0', /integer from 1 to 16/],
    ['local up --instances 17', /integer from 1 to 16/],
    ['local up --instances three', /integer from 1 to 16/],
    ['local up --instances 3.0', /integer from 1 to 16/],
    ['local up --mode galera', /Allowed is semisync or async or group/],
    ['local up --acks -1', /integer from 0 to 15/],
    ['local up --acks 16', /integer from 0 to 15/],
    ['local up --durability none', /Allowed is strict or available/],
    ['local up --port 0', /integer from 1 to 65535/],
    ['local up --port 65536', /integer from 1 to 65535/],
    ['local up --store mysql://x', /file, or the URL of a Redis/],
    ['local up --store redis:', /file, or the URL of a Redis/],
    ['local up --output xml', /Allowed is text or json/],
    ['local up --data /proc/x', /folder \/proc\/x cannot hold a cluster: \/proc belongs to the kernel \(proc\)/],
    ['local up --data /sys/kernel/x', /\/sys\/kernel belongs to the kernel \(sysfs\)/],
    ['local up --data /dev/null', /\/dev\/null is no folder/],
    ['local up --data /dev/null/x', /\/dev\/null is no folder/],
    ['local up --hosts /proc', /--hosts, \/proc, cannot be read: it is a folder, not a file/],
    ['local up --config /dev/null', /--config, \/dev\/null, is empty/],
    ['local up --bogus', /unknown option '--bogus'/],
    ['local up --instances', /argument missing/],
    ['local fault demo-0', /missing required argument 'fault'/],
    ['local fault demo-0 explode', /Allowed choices are kill-mysqld, freeze-mysqld/],
    ['local fault demo kill', /named <cluster>-<ordinal>/],
    ['local scale', /missing required argument 'n'/],
    ['local scale demo 0', /integer from 1 to 16/],
    ['local scale 99', /integer from 1 to 16/],
    ['local sql --on demo', /named <cluster>-<ordinal>/],
    ['local logs -n x', /integer from 0 to 10000/],
    ['topology --api ftp://x', /http/],
    ['topology --api http://user:pw@host', /without user and password/],
    ['switchover --to demo', /named <cluster>-<ordinal>/],
    ['switchover --timeout 10', /with its unit/],
    ['switchover --timeout 10h', /with its unit/],
    ['switchover --timeout 99ms', /from 100 ms/],
    ['failover --accept-losses', /Did you mean --accept-loss/],
    ['fence', /missing required argument 'instance'/],
    ['fence demo', /named <cluster>-<ordinal>/],
    ['unfence DEMO-0', /named <cluster>-<ordinal>/],
    ['replace', /missing required argument 'instance'/],
    ['replace demo-2 --accept-losses', /Did you mean --accept-loss/],
    ['downtime', /missing required argument 'instance'/],
    ['downtime demo-2 --for 2h', /needs --for and --reason/],
    ['downtime demo-2 --reason x --for 2', /with its unit \(s, m, h or d\)/],
    ['downtime demo-2 --reason x --for 31d', /from 1s to 30d/],
    ['downtime demo-2 --reason= --for 2h', /one line of 1 to 200/],
    ['downtime demo-2 --end --for 2h', /cannot be used with option/],
    ['pause Demo', /lower-case letters/],
    ['manager', /images.regent is not said, and has no default: give --images-regent/],
    [
      'manager --images-regent x --leader-election-lease-seconds 2.5',
      /--leader-election-lease-seconds: leaderElection.leaseSeconds is 2.5; allowed is an integer/,
    ],
    [
      'manager --images-regent x --webhook-enabled maybe',
      /--webhook-enabled: webhook.enabled is "maybe"; allowed is true or false/,
    ],
    ['manager --images-regent x --log-level loud', /trace or debug/],
    [
      'manager --images-regent x --config /nonexistent/manager.yaml',
      /the configuration of the manager, \/nonexistent\/manager.yaml, cannot be read/,
    ],
    ['manager --leader-election-lease-second 3', /Did you mean/],
    ['manager --store file', /--store is for the manager of a local cluster, which --cluster-dir names/],
    [
      'manager --cluster-dir x --api-port 1',
      /--api-port is for a manager on Kubernetes, --cluster-dir for that of a local cluster/,
    ],
    ['manager --cluster-dir x --config y', /--config is for a manager on Kubernetes/],
    ['manager --cluster-dir x --log-level loud', /trace, debug|trace or debug/],
    ['manager --cluster-dir x --host nowhere', /IP address/],
    ['agent', /required option '--config <file>'/],
    ['completion tcsh', /Allowed choices are bash, zsh, fish/],
  ]
  test.each(usage)('refuses "regent %s" with exit code 2, and does nothing', async (line, message) => {
    const home = await emptyHome()
    const { code, err } = await regent(line.split(' ').filter((word) => word !== ''))
    expect(err).toMatch(message)
    expect(code).toBe(2)
    expect(err).not.toMatch(/REGENT_INTERNAL|\n {4}at /)
    // A command that gets as far as looking at the clusters takes their lock.
    expect(
      (await import('node:fs/promises').then(({ readdir }) => readdir(home))).filter((name) => name !== 'lock'),
    ).toEqual([])
  })

  test('prints its version', async () => {
    expect(await regent(['--version'])).toEqual({ code: 0, out: `regent ${regentVersion}`, err: '' })
  })

  test('tells what the operating system refuses in a sentence of its own, without a stack', async () => {
    const home = await emptyHome()
    await writeFile(join(home, 'demo'), 'a file where a folder is to be')
    await writeFile(join(home, 'file'), '')
    process.env['REGENT_HOME'] = join(home, 'file', 'below')
    for (const line of ['local list', 'local down demo', 'topology', 'local up demo']) {
      const { code, err } = await regent(line.split(' '))
      expect([line, code, err]).not.toEqual([line, 0, ''])
      expect(err).not.toMatch(/REGENT_INTERNAL|\n {4}at /)
    }
  })

  test('runs a manager on Kubernetes with what flags and environment say', async () => {
    const kubeconfig = join(await temporaryFolder(), 'kubeconfig')
    const { code, err } = await regent(['manager', '--kubeconfig', kubeconfig, '--log-level', 'silent'], {
      REGENT_IMAGES_REGENT: 'regent:1',
    })
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(new RegExp(`${kubeconfig} cannot be used as a kubeconfig[^]*REGENT_KUBE_CONFIG`)),
    ])
  })

  test('tells wrong usage as JSON where results are asked for as JSON', async () => {
    const { code, err } = await regent(['local', 'up', '--instances', '99', '-o', 'json'])
    expect([code, JSON.parse(err)]).toEqual([
      2,
      expect.objectContaining({
        code: 'REGENT_BAD_REQUEST',
        message: expect.stringMatching(/'99' is not taken.*integer from 1 to 16/) as string,
      }),
    ])
  })

  test('refuses a bad file with exit code 2, and makes nothing', async () => {
    const home = await emptyHome()
    const file = join(await temporaryFolder(), 'spec.yaml')
    await writeFile(file, 'instances: 99')
    const { code, err } = await regent(['local', 'up', 'demo', '--config', file, '-o', 'json'])
    expect(code).toBe(2)
    expect(JSON.parse(err.split('\n').at(-1) ?? '')).toMatchObject({
      code: 'REGENT_BAD_FILE',
      message: expect.stringContaining('instances is 99; allowed is an integer from 1 to 16') as string,
    })
    expect(await import('node:fs/promises').then(({ readdir }) => readdir(home))).toEqual(['lock'])
  })

  test('prints help on standard output with exit code 0, and every option with its default', async () => {
    const { code, out } = await regent(['local', 'up', '--help'])
    expect(code).toBe(0)
    for (const option of [
      '--instances',
      '--mode',
      '--acks',
      '--durability',
      '--data',
      '--port',
      '--hosts',
      '--config',
      '--store',
      '--output',
    ]) {
      expect(out.replaceAll(/\s+/g, ' ')).toMatch(new RegExp(`${option} .*?\\(default: `))
    }
  })

  test('says so with exit code 1 where there is no local cluster to ask', async () => {
    await emptyHome()
    const { code, err } = await regent(['topology'])
    expect(code).toBe(1)
    expect(err).toContain('there is no local cluster; "regent local up" makes one')
    expect(err).toContain('REGENT_NOT_FOUND')
  })

  test('says with exit code 3 that a manager cannot be reached', async () => {
    const { code, err } = await regent([
      'topology',
      'demo',
      '--api',
      'http://127.0.0.1:1',
      '--token-file',
      await tokenFile(),
    ])
    expect(code).toBe(3)
    expect(err).toMatch(/no manager answers at http:\/\/127.0.0.1:1/)
  })

  test('needs a token for a manager that is named', async () => {
    const { code, err } = await regent(['topology', 'demo', '--api', 'http://127.0.0.1:1'])
    expect([code, err]).toEqual([2, expect.stringContaining('--token-file')])
  })

  test('refuses an address of the environment as it refuses that of --api, and shows no password of it', async () => {
    for (const address of ['localhost:9500', 'ftp://127.0.0.1', 'nonsense', 'http://ann:hunter2@127.0.0.1:1']) {
      const env = { REGENT_API: address, REGENT_TOKEN_FILE: await tokenFile() }
      const { code, err } = await regent(['topology', 'demo'], env)
      expect([code, err]).toEqual([2, expect.stringContaining('REGENT_API is none that is taken. Allowed is an http')])
      expect(err).not.toContain('hunter2')
    }
  })

  test('takes manager and token from the environment, and prints JSON when asked to', async () => {
    const asked: Asked[] = []
    const url = await httpServer(
      (request) => (
        asked.push(request),
        { status: 200, body: JSON.stringify(request.path.endsWith('/clusters') ? [{ name: 'demo' }] : topology()) }
      ),
    )
    const { code, out } = await regent(['topology', '-o', 'json'], {
      REGENT_API: `${url}/`,
      REGENT_TOKEN_FILE: await tokenFile(),
    })
    expect([code, JSON.parse(out)]).toEqual([0, { formatVersion: 1, ...topology() }])
    expect(asked.map((one) => one.path)).toEqual(['/api/v1/clusters', '/api/v1/clusters/demo/topology'])
    expect(asked[0]?.authorization).toBe('Bearer abc')
  })

  test('asks for exactly what its options say', async () => {
    const asked: Asked[] = []
    const url = await httpServer(
      (request) => (
        asked.push(request),
        {
          status: 200,
          body: JSON.stringify({ done: true, dryRun: false, sentence: 'done it', plan: ['step one'], recovery: 'r1' }),
        }
      ),
    )
    const env = { REGENT_API: url, REGENT_TOKEN_FILE: await tokenFile() }
    const words = ['--from', 'demo-0', '--to', 'demo-1', '--dry-run', '--timeout', '5s']
    const ran = await regent(['switchover', 'demo', ...words], env)
    expect(ran).toEqual({ code: 0, out: 'done it\n  step one\ntimeline: regent recoveries demo r1', err: '' })
    await regent(['failover', 'demo', '--accept-loss'], env)
    await regent(['fence', 'demo-2', '--keep-primary'], env)
    await regent(['unfence', 'demo-2'], env)
    await regent(['replace', 'demo-2'], env)
    await regent(['replace', 'demo-2', '--accept-loss', '--dry-run'], env)
    await regent(['pause', 'demo'], env)
    await regent(['resume', 'demo'], env)
    await regent(['fence', 'demo-2', '--dry-run'], env)
    await regent(['unfence', 'demo-2', '--dry-run'], env)
    await regent(['downtime', 'demo-2', '--for', '2h', '--reason', 'new disk', '--owner', 'ann'], env)
    await regent(['downtime', 'demo-2', '--for', '90s', '--reason', 'x', '--dry-run'], { ...env, USER: 'bob' })
    await regent(['downtime', 'demo-2', '--end'], env)
    await regent(['pause', 'demo', '--dry-run'], env)
    await regent(['resume', 'demo', '--dry-run'], env)
    expect(asked.map((one) => [one.method, one.path, one.body])).toEqual([
      [
        'POST',
        '/api/v1/clusters/demo/switchover',
        { from: 'demo-0', to: 'demo-1', timeoutMs: 5000, dryRun: true, reason: 'asked for with regent switchover' },
      ],
      ['POST', '/api/v1/clusters/demo/failover', { acceptLoss: true }],
      ['POST', '/api/v1/clusters/demo/fence', { instance: 'demo-2', keepPrimary: true }],
      ['POST', '/api/v1/clusters/demo/unfence', { instance: 'demo-2' }],
      ['POST', '/api/v1/clusters/demo/replace', { instance: 'demo-2' }],
      ['POST', '/api/v1/clusters/demo/replace', { instance: 'demo-2', acceptLoss: true, dryRun: true }],
      ['POST', '/api/v1/clusters/demo/pause', { reason: 'asked for with regent pause' }],
      ['POST', '/api/v1/clusters/demo/resume', {}],
      ['POST', '/api/v1/clusters/demo/fence', { instance: 'demo-2', dryRun: true }],
      ['POST', '/api/v1/clusters/demo/unfence', { instance: 'demo-2', dryRun: true }],
      [
        'POST',
        '/api/v1/clusters/demo/downtime',
        { instance: 'demo-2', forMs: 7_200_000, reason: 'new disk', owner: 'ann' },
      ],
      [
        'POST',
        '/api/v1/clusters/demo/downtime',
        { instance: 'demo-2', forMs: 90_000, reason: 'x', owner: 'bob', dryRun: true },
      ],
      ['POST', '/api/v1/clusters/demo/end-downtime', { instance: 'demo-2' }],
      ['POST', '/api/v1/clusters/demo/pause', { reason: 'asked for with regent pause', dryRun: true }],
      ['POST', '/api/v1/clusters/demo/resume', { dryRun: true }],
    ])
  })

  test('prints a refusal as its message, remedy and code with exit code 1, a deadline with 4', async () => {
    const problem = (code: string, status: number) => ({
      status,
      body: JSON.stringify({ title: 't', status, detail: 'demo-2 is not in the sync set', code }),
    })
    const env = { REGENT_TOKEN_FILE: await tokenFile() }
    const refusing = await httpServer(() => problem('REGENT_REFUSED', 409))
    expect(await regent(['switchover', 'demo'], { ...env, REGENT_API: refusing })).toEqual({
      code: 1,
      out: '',
      err: 'error: demo-2 is not in the sync set\n  Ask again once the reason in the message is gone.\n  REGENT_REFUSED',
    })
    const detail = 'the cluster is paused (upgrade); regent resume first'
    const paused = await httpServer(() => ({
      status: 409,
      body: JSON.stringify({ detail, code: 'REGENT_REFUSED', remedy: '' }),
    }))
    expect((await regent(['switchover', 'demo'], { ...env, REGENT_API: paused })).err).toBe(
      `error: ${detail}\n  REGENT_REFUSED`,
    )
    const late = await httpServer(() => problem('REGENT_TIMED_OUT', 504))
    expect((await regent(['switchover', 'demo'], { ...env, REGENT_API: late })).code).toBe(4)
  })

  test('shows one recovery for an id alone, and the list for a cluster’s name', async () => {
    const asked: string[] = []
    const url = await httpServer(({ path }) => {
      asked.push(path)
      return { status: 200, body: path.endsWith('/clusters') ? JSON.stringify([{ name: 'demo' }]) : '[]' }
    })
    const env = { REGENT_API: url, REGENT_TOKEN_FILE: await tokenFile() }
    await regent(['recoveries', 'demo'], env)
    await regent(['recoveries', '7f3a', '-o', 'json'], env)
    await regent(['recoveries', 'demo', '7f3a', '-o', 'json'], env)
    expect(asked.filter((path) => path.includes('recoveries'))).toEqual([
      '/api/v1/clusters/demo/recoveries',
      '/api/v1/clusters/demo/recoveries/7f3a',
      '/api/v1/clusters/demo/recoveries/7f3a',
    ])
  })
})
