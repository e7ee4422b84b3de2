import { Value } from 'typebox/value'
import { describe, expect, test } from 'vitest'
import { fileWith } from '#local/testing.ts'
import { loadKubernetesOptions } from './load.ts'
import { kubernetesManagerOptionsSchema, type KubernetesManagerOptions } from './schema.ts'
import { settings } from './settings.ts'

interface Given {
  readonly flags?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  readonly yaml?: string
}

/** `images.regent` has no default, so that it is given here. */
async function load({ flags = {}, env = {}, yaml }: Given): Promise<KubernetesManagerOptions> {
  return loadKubernetesOptions({
    flags: new Map(Object.entries({ '--images-regent': 'regent:1', ...flags })),
    env,
    ...(yaml === undefined ? {} : { file: await fileWith(yaml) }),
  })
}

describe('the options of a manager on Kubernetes', () => {
  test('have defaults for everything but the image of Regent', async () => {
    const options = await load({})
    expect(options).toMatchObject({
      kube: { qps: 50, burst: 100 },
      watch: { namespaces: [], resyncSeconds: 36_000 },
      reconcile: { concurrent: 4, applyOnce: 'off', disabledCapabilities: [] },
      leaderElection: { leaseSeconds: 2, renewDeadlineSeconds: 1.4, retrySeconds: 0.3 },
      api: { port: 9500 },
      metrics: { port: 8080 },
      health: { port: 9440 },
      webhook: { enabled: true, port: 9443, waitForSecretSeconds: 90 },
      log: { level: 'info', maxBytes: 20_971_520, maxFiles: 5 },
      images: { regent: 'regent:1', pullPolicy: 'IfNotPresent' },
    })
    expect(Value.Check(kubernetesManagerOptionsSchema, options)).toBe(true)
    await expect(loadKubernetesOptions({ flags: new Map(), env: {} })).rejects.toThrow(
      'images.regent is not said, and has no default: give --images-regent, REGENT_IMAGES_REGENT or images.regent in the file of --config',
    )
  })

  test('are taken from a flag before a variable, from that before the file, and from that before the default', async () => {
    const yaml = 'version: 1\nhealth: {port: 1}\nmetrics: {port: 11}\napi: {port: 21}'
    const env = { REGENT_HEALTH_PORT: '2', REGENT_METRICS_PORT: '12' }
    expect(await load({ yaml, env, flags: { '--health-port': '3' } })).toMatchObject({
      health: { port: 3 },
      metrics: { port: 12 },
      api: { port: 21 },
      webhook: { port: 9443 },
    })
  })

  test('have the same keys as flags, variables and in the file', () => {
    expect(settings.find(({ key }) => key === 'leaderElection.renewDeadlineSeconds')).toMatchObject({
      flag: '--leader-election-renew-deadline-seconds',
      variable: 'REGENT_LEADER_ELECTION_RENEW_DEADLINE_SECONDS',
    })
    expect(settings.find(({ key }) => key === 'kube.context')).toMatchObject({
      flag: '--context',
      variable: 'REGENT_CONTEXT',
    })
    expect(new Set(settings.map(({ flag }) => flag)).size).toBe(settings.length)
  })

  test('are numbers, words, lists and yes or no, whoever says them', async () => {
    const said = {
      watch: { namespaces: ['a', 'b-1'] },
      webhook: { enabled: false },
      leaderElection: { retrySeconds: 0.25 },
      reconcile: { applyOnce: 'force', disabledCapabilities: ['events'] },
    }
    const texts = {
      watch_namespaces: 'a, b-1',
      webhook_enabled: 'false',
      leader_election_retry_seconds: '0.25',
      reconcile_apply_once: 'force',
      reconcile_disabled_capabilities: 'events,',
    }
    const named = (name: (key: string) => string) =>
      Object.fromEntries(Object.entries(texts).map(([key, text]) => [name(key), text]))
    expect(await load({ env: named((key) => `REGENT_${key.toUpperCase()}`) })).toMatchObject(said)
    expect(await load({ flags: named((key) => `--${key.replaceAll('_', '-')}`) })).toMatchObject(said)
    expect(await load({ yaml: JSON.stringify(said) })).toMatchObject(said)
  })

  test('may be left open by a chart: an empty text or null is not said where there is no default, and an empty variable never is', async () => {
    const options = await load({
      yaml: 'log: {file: "", level: warn}\nimages: {mysql: null}\nprofiling:\n',
      env: { REGENT_LOG_LEVEL: '' },
    })
    expect(options.log).toMatchObject({ level: 'warn' })
    expect([options.log.file, options.images.mysql, options.profiling.address]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    await expect(load({ yaml: 'log: {level: }' })).rejects.toThrow(/log.level is null/)
  })

  test('do not take the address of a Service that Kubernetes tells every pod for a port', async () => {
    expect((await load({ env: { REGENT_METRICS_PORT: 'tcp://10.96.0.7:8080' } })).metrics.port).toBe(8080)
  })

  test('serve no webhooks where these are among the disabled capabilities', async () => {
    expect((await load({ yaml: 'reconcile: {disabledCapabilities: [webhooks]}' })).webhook.enabled).toBe(false)
  })

  const refusals: readonly (readonly [string, Given, RegExp])[] = [
    [
      'a flag that is no number',
      { flags: { '--api-port': 'https' } },
      /^--api-port: api.port is "https"; allowed is an integer from 1 to 65535$/,
    ],
    [
      'a variable out of range',
      { env: { REGENT_LEADER_ELECTION_LEASE_SECONDS: '0' } },
      /^REGENT_LEADER_ELECTION_LEASE_SECONDS: leaderElection.leaseSeconds is 0; allowed is an integer from 1 to 300$/,
    ],
    [
      'a fraction where a whole number is due',
      { env: { REGENT_LEADER_ELECTION_LEASE_SECONDS: '2.5' } },
      /leaseSeconds is 2.5; allowed is an integer/,
    ],
    [
      'a wrong word in the file',
      { yaml: 'version: 1\nlog:\n  level: loud\n' },
      /file:3: log.level is "loud"; allowed is "trace" or "debug"/,
    ],
    [
      'a wrong value in the file that a flag wins over',
      { yaml: 'log: {level: loud}', flags: { '--log-level': 'info' } },
      /file:1: log.level is "loud"/,
    ],
    [
      'a boolean for a word, as YAML 1.1 reads off',
      { yaml: 'reconcile: {applyOnce: false}' },
      /applyOnce is false; allowed is "off" or "on" or "force"/,
    ],
    [
      'an unknown concern',
      { yaml: '# mine\nlogs: {level: info}' },
      /file:2: unknown key "logs"; allowed are version, kube, watch/,
    ],
    [
      'an unknown key',
      { yaml: 'log:\n  level: info\n  colour: red' },
      /file:3: log has the unknown key "colour"; allowed are level, file/,
    ],
    ['a concern that is a list', { yaml: 'log: [info]' }, /file:1: log is \["info"\]; allowed is a mapping/],
    ['a list at the top', { yaml: '- log' }, /the top level must be a mapping/],
    ['version 0', { yaml: 'version: 0' }, /file:1: version is 0; allowed is 1/],
    ['no YAML', { yaml: 'log: [' }, /is not valid YAML/],
    [
      'a key that is there twice',
      { yaml: 'log: {level: info}\nlog: {level: warn}' },
      /is not valid YAML: Map keys must be unique/,
    ],
    [
      'a capability that is none',
      { flags: { '--reconcile-disabled-capabilities': 'events,backups' } },
      /disabledCapabilities.1 is "backups"; allowed is "webhooks" or/,
    ],
    [
      'no namespace’s name',
      { env: { REGENT_WATCH_NAMESPACES: 'Prod' } },
      /watch.namespaces.0 is "Prod"; allowed is the name of a namespace/,
    ],
    [
      'a namespace twice',
      { yaml: 'watch: {namespaces: [a, a]}' },
      /watch.namespaces is \["a","a"\]; allowed is a list of up to 64 different namespaces/,
    ],
    ['a name for an address', { yaml: 'api: {host: localhost}' }, /api.host is "localhost"; allowed is an IP address/],
    [
      'no address for profiling',
      { flags: { '--profiling-address': '6060' } },
      /profiling.address is "6060"; allowed is <IP address>:<port>/,
    ],
    [
      'log files that are all thrown away',
      { yaml: 'log: {file: /tmp/x, maxFiles: 0}' },
      /maxFiles is 0; allowed is an integer from 1 to 100/,
    ],
  ]
  test.each(refusals)('are refused for %s', async (_what, given, message) => {
    await expect(load(given)).rejects.toMatchObject({
      code: given.yaml === undefined ? 'REGENT_BAD_REQUEST' : 'REGENT_BAD_FILE',
      message: expect.stringMatching(message) as string,
    })
  })

  test('are refused in a file of a newer version', async () => {
    await expect(load({ yaml: 'version: 2\nnovelty: true' })).rejects.toMatchObject({ code: 'REGENT_NEWER_VERSION' })
  })

  const contradictions: readonly (readonly [string, Given, RegExp])[] = [
    [
      'leaders could overlap',
      { env: { REGENT_LEADER_ELECTION_LEASE_SECONDS: '1' } },
      /leaderElection: the renew deadline of 1400 ms must be shorter than the lease's 1000 ms.*leaseSeconds \(REGENT_LEADER_ELECTION_LEASE_SECONDS\), renewDeadlineSeconds \(default\)/,
    ],
    [
      'a leader has one try only',
      { flags: { '--leader-election-retry-seconds': '1.3' } },
      /must be longer than 1.2 times the retry period of 1300 ms/,
    ],
    [
      'two servers take one port',
      { yaml: 'health: {port: 8080}' },
      /metrics.port \(default\) and health.port \(.*file:1\) both take port 8080/,
    ],
    [
      'profiling takes another’s port',
      { flags: { '--profiling-address': ':9500' } },
      /api.port \(default\) and profiling.address \(--profiling-address\) both take port 9500/,
    ],
    [
      'a certificate is given and no webhook served',
      { yaml: 'webhook:\n  enabled: false\n  certificateFolder: /tls' },
      /webhook.certificateFolder \(.*:3\) is \/tls, but webhook.enabled \(.*:2\) is false/,
    ],
    [
      'a certificate is given and webhooks are disabled',
      { yaml: 'webhook: {certificateFolder: /tls}', flags: { '--reconcile-disabled-capabilities': 'webhooks' } },
      /but reconcile.disabledCapabilities \(--reconcile-disabled-capabilities\) has webhooks/,
    ],
    [
      'webhooks are both wanted and disabled',
      { flags: { '--webhook-enabled': 'true', '--reconcile-disabled-capabilities': 'webhooks' } },
      /disabledCapabilities \(--reconcile-disabled-capabilities\) has webhooks, and webhook.enabled \(--webhook-enabled\) is true/,
    ],
  ]
  test.each(contradictions)('are refused where %s', async (_what, given, message) => {
    await expect(load(given)).rejects.toMatchObject({
      code: 'REGENT_BAD_REQUEST',
      message: expect.stringMatching(message) as string,
    })
  })

  test('may have two servers on one port of different addresses, or of a webhook that is not served', async () => {
    await load({
      yaml: 'metrics: {host: 127.0.0.1, port: 7000}\nhealth: {host: 127.0.0.2, port: 7000}\nwebhook: {enabled: false, port: 9500}',
    })
  })
})
