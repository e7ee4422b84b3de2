import { writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import type { AgentConfig } from '#agents/instance/config.ts'
import { agentConfigOf } from '#kube/objects/agent-config.ts'
import { aCluster } from '#kube/testing.ts'
import { agentConfigFor } from '#local/folder/agent-config.ts'
import { layoutOf } from '#local/folder/state-layout.ts'
import { clusterIn, fileWith } from '#local/testing.ts'
import { readAgentConfig } from './agent-config-file.ts'

const cluster = clusterIn('/state')
const [instance] = cluster.instances
if (instance === undefined) throw new Error('the cluster has no instance')
/** What `local up` writes must be what an agent reads: the annotation checks it at compile time. */
const written: AgentConfig = agentConfigFor(layoutOf('/state'), cluster, instance, {
  mode: 'semisync',
  lowSpaceBytes: 1,
  keepBinlogsSeconds: 2,
  heldBinlogsBytes: 3,
  archiveBytes: 4,
})

describe('the agent’s configuration file', () => {
  test('is read as local up writes it', async () => {
    expect(await readAgentConfig(await fileWith(JSON.stringify(written)))).toEqual(written)
  })

  test('is read as it is written for the pods of a Kubernetes cluster, with what each pod has in its environment', async () => {
    const shared =
      agentConfigOf(aCluster({ settings: { max_connections: '500' }, keepBinlogsSeconds: 3_600 })).data?.[
        'agent.json'
      ] ?? ''
    const file = await fileWith(shared)
    expect(await readAgentConfig(file, { REGENT_INSTANCE: 'shop-1', REGENT_HOST: '10.0.0.2' })).toMatchObject({
      ...{ cluster: 'shop', instance: 'shop-1', host: '10.0.0.2', port: 3306, agentPort: 9400, probePort: 9401 },
      ...{
        serverSettings: { max_connections: '500' },
        keepBinlogsSeconds: 3_600,
        launcherDir: '/regent/shared',
        tls: { certificateFolder: '/etc/regent-certificates' },
      },
    })
    await expect(readAgentConfig(file, { REGENT_INSTANCE: 'shop-1' })).rejects.toThrow('lacks "host"')
    await expect(readAgentConfig(file, { REGENT_HOST: '10.0.0.2' })).rejects.toThrow('lacks "instance"')
  })

  test('names the other addresses of a pod that has several, as far as they are there', async () => {
    const file = await fileWith(agentConfigOf(aCluster()).data?.['agent.json'] ?? '')
    const hostsOf = async (REGENT_HOST: string, REGENT_HOSTS?: string) => {
      const env = { REGENT_INSTANCE: 'shop-1', REGENT_HOST, ...(REGENT_HOSTS !== undefined && { REGENT_HOSTS }) }
      const { host, otherHosts } = await readAgentConfig(file, env)
      return [host, otherHosts]
    }
    expect(await hostsOf('127.0.0.1', '127.0.0.1,::1')).toEqual(['127.0.0.1', ['::1']])
    expect(await hostsOf('::1', '::1,127.0.0.1')).toEqual(['::1', ['127.0.0.1']])
    expect(await hostsOf('127.0.0.1', '127.0.0.1')).toEqual(['127.0.0.1', undefined])
    expect(await hostsOf('127.0.0.1', '127.0.0.1,fd00:dead::1')).toEqual(['127.0.0.1', undefined])
    expect(await hostsOf('127.0.0.1', '')).toEqual(['127.0.0.1', undefined])
    expect(await hostsOf('127.0.0.1')).toEqual(['127.0.0.1', undefined])
  })

  test('is read as it is written for the pods of a cluster that says something of its clients’ TLS', async () => {
    const clientTls = async (tls: object) =>
      (
        await readAgentConfig(await fileWith(agentConfigOf(aCluster({ tls })).data?.['agent.json'] ?? ''), {
          REGENT_INSTANCE: 'shop-1',
          REGENT_HOST: '10.0.0.2',
        })
      ).clientTls
    expect(await clientTls({ secretName: 'shop-tls' })).toEqual({
      certificateFolder: '/etc/regent-client-certificate',
      required: false,
    })
    expect(await clientTls({ required: true })).toEqual({ required: true })
    expect(await clientTls({})).toBeUndefined()
  })

  test('of before the agent kept binlogs and archives in bounds has the defaults', async () => {
    const { keepBinlogsSeconds: _keep, heldBinlogsBytes: _held, archiveBytes: _archive, ...older } = written
    expect(await readAgentConfig(await fileWith(JSON.stringify(older)))).toMatchObject({
      keepBinlogsSeconds: 259_200,
      heldBinlogsBytes: 21_474_836_480,
      archiveBytes: 4_294_967_296,
    })
  })

  test('may say where the certificates are, and has no port for probes unless it says so', async () => {
    const { probePort: _probePort, ...older } = written
    const tls = { certificateFolder: '/regent/certificates' }
    expect(await readAgentConfig(await fileWith(JSON.stringify({ ...older, tls })))).toEqual({
      ...written,
      tls,
      probePort: 0,
    })
  })

  test('may say that lifecycle actions are served, and to whom', async () => {
    for (const lifecycle of [{ tokenFile: '/regent/lifecycle-token' }, { open: true, port: 3601, streamingPort: 3602 }])
      expect(await readAgentConfig(await fileWith(JSON.stringify({ ...written, lifecycle })))).toEqual({
        ...written,
        lifecycle,
      })
  })

  test('serves lifecycle actions as the environment says where the file does not', async () => {
    const read = async (more: object, text: string) =>
      (await readAgentConfig(await fileWith(JSON.stringify({ ...written, ...more })), { REGENT_LIFECYCLE: text }))
        .lifecycle
    expect(await read({}, '{"open":true,"port":3601}')).toEqual({ open: true, port: 3601 })
    expect(await read({ lifecycle: { open: true } }, '{"tokenFile":"/token"}')).toEqual({ open: true })
    expect(await read({}, '')).toBeUndefined()
    await expect(read({}, '{"open":')).rejects.toThrow('REGENT_LIFECYCLE is not JSON')
    await expect(read({}, '{"port":3601}')).rejects.toThrow('lifecycle does not say who may call')
  })

  const refusals: readonly (readonly [string, object, RegExp])[] = [
    ['an unknown key', { colour: 'red' }, /unknown key "colour"/],
    ['a relative path', { volume: 'instances/x' }, /volume is "instances\/x"; allowed is a text/],
    ['a port out of range', { adminPort: 70_000 }, /adminPort is 70000; allowed is an integer from 1 to 65535/],
    [
      'certificates in a relative folder',
      { tls: { certificateFolder: 'tls' } },
      /tls.certificateFolder is "tls"; allowed is a text/,
    ],
    ['no command for mysqld', { mysqld: [] }, /mysqld is \[\]/],
    [
      'an unknown timing',
      { timings: { leaseMinutes: 1 } },
      /timings has the unknown key "leaseMinutes"; allowed are processWatchMs/,
    ],
    ['timings that contradict each other', { timings: { leaseMs: 1500 } }, /leaseRenewMs × 3 must not exceed leaseMs/],
    ['a lease that outlives what managers wait for', { timings: { leaseMs: 20_000 } }, /leaseMs must not exceed 6000/],
    ['an instance of another cluster', { instance: 'other-0' }, /allowed is shop-<ordinal>/],
    ['a lifecycle agent that everybody may call unasked', { lifecycle: {} }, /lifecycle does not say who may call/],
    [
      'a lifecycle agent with a token that is open as well',
      { lifecycle: { open: true, tokenFile: '/token' } },
      /lifecycle does not say who may call/,
    ],
    [
      'a lifecycle agent with the token of the agents',
      { lifecycle: { tokenFile: written.tokenFile } },
      /lifecycle.tokenFile is tokenFile; allowed is another file/,
    ],
    ['an unknown log level', { logLevel: 'loud' }, /logLevel is "loud"/],
    ['a missing field', { host: undefined }, /lacks "host"/],
    [
      'a setting that is a number',
      { serverSettings: { max_connections: 5 } },
      /serverSettings.max_connections is 5; allowed is a text/,
    ],
  ]
  test.each(refusals)('is refused for %s', async (_what, change, message) => {
    const file = await fileWith(JSON.stringify({ ...written, ...change }))
    await expect(readAgentConfig(file)).rejects.toThrow(message)
  })

  test('is refused when it is of a newer version, no JSON or no object', async () => {
    await expect(readAgentConfig(await fileWith('{"version": 2}'))).rejects.toMatchObject({
      code: 'REGENT_NEWER_VERSION',
    })
    const file = await fileWith('version: 1')
    await expect(readAgentConfig(file)).rejects.toMatchObject({ code: 'REGENT_BAD_FILE' })
    await writeFile(file, '[]')
    await expect(readAgentConfig(file)).rejects.toMatchObject({ code: 'REGENT_BAD_FILE' })
  })
})
