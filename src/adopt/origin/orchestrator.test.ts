import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { fileWith, temporaryFolder } from '#local/testing.ts'
import { adoptedFolder } from '../adopted-folder.ts'
import { checkAdoption } from '../adoption.ts'
import { orchestratorKeys } from './orchestrator-keys.ts'
import { readOrchestrator } from './orchestrator.ts'

const conf = {
  ListenAddress: ':3000',
  MySQLTopologyUser: 'orc_topology',
  MySQLTopologyPassword: 'orc_secret',
  DiscoverySeeds: ['db1', 'db2:3307'],
  DefaultInstancePort: 3310,
  PromotionIgnoreHostnameFilters: ['^report'],
  RecoverMasterClusterFilters: ['*'],
  ReasonableReplicationLagSeconds: 12,
  AuthenticationMethod: 'basic',
  HTTPAuthUser: 'ann',
  HTTPAuthPassword: 'secret-of-ann',
  ReadOnly: true,
  ConsulAddress: '127.0.0.1:8500',
  OwnKey: 1,
}

async function read(keys: object) {
  const file = await fileWith(JSON.stringify(keys))
  const folder = adoptedFolder(await temporaryFolder())
  return readOrchestrator(file, { cluster: 'shop', folder })
}

describe('orchestrator’s configuration file', () => {
  it('is taken key by key, and each line says what came of it', async () => {
    const { lines, mysql, seeds, served, applied } = await read(conf)
    expect(lines).toContain('MySQLTopologyPassword=…  →  mysql of the adoption: the account that looks at the servers')
    expect(lines.find((line) => line.startsWith('ConsulAddress'))).toMatch(/ {2}– {2}instead: /)
    expect(lines.at(-1)).toBe('OwnKey=1  –  not known, and left out')
    expect(lines.join('\n')).not.toMatch(/orc_secret|secret-of-ann/)
    expect(mysql.user).toBe('orc_topology')
    expect(await readFile(mysql.passwordFile, 'utf8')).toBe('orc_secret\n')
    expect(seeds).toEqual([
      { host: 'db1', port: 3310 },
      { host: 'db2', port: 3307 },
    ])
    expect(served).toMatchObject({ host: '127.0.0.1', port: 3000, readOnly: true })
    expect(await readFile(served?.loginFile ?? '', 'utf8')).toBe('ann:secret-of-ann\n')
    const found = checkAdoption('found', { cluster: 'shop', mysql, hosts: ['db1', 'report1'] })
    expect(applied(found)).toMatchObject({
      maxLagSeconds: 12,
      failover: { automatic: true },
      hosts: [{ promotion: 'neutral' }, { promotion: 'never' }],
    })
  })

  it('may name a file with the account, and variables of the environment', async () => {
    const credentials = await fileWith('[client]\nuser = orc\npassword="of it"\n')
    const { mysql } = await read({ MySQLTopologyCredentialsConfigFile: credentials })
    expect([mysql.user, await readFile(mysql.passwordFile, 'utf8')]).toEqual(['orc', 'of it\n'])
    const other = await read({ MySQLTopologyUser: 'orc', MySQLTopologyPassword: '${NO_SUCH_VARIABLE}' })
    expect(await readFile(other.mysql.passwordFile, 'utf8')).toBe('\n')
    expect(other.served).toBeUndefined()
    const none = other.applied(checkAdoption('found', { cluster: 'shop', mysql, hosts: ['db1'] }))
    expect(none.failover.automatic).toBe(false)
  })

  it.each([
    [{}, 'says no MySQLTopologyUser'],
    [{ MySQLTopologyUser: 1 }, 'MySQLTopologyUser, which must be a text'],
    [{ MySQLTopologyUser: 'o', DiscoverySeeds: 'db1' }, 'DiscoverySeeds, which must be a list of texts'],
    [{ MySQLTopologyUser: 'o', DiscoverySeeds: ['a b'] }, '"a b" in DiscoverySeeds'],
    [{ MySQLTopologyUser: 'o', PromotionIgnoreHostnameFilters: ['('] }, '"(" in PromotionIgnoreHostnameFilters'],
    [{ MySQLTopologyUser: 'o', ListenAddress: '3000' }, 'ListenAddress 3000'],
    [{ MySQLTopologyUser: 'o', ListenAddress: ':3000', AuthenticationMethod: 'basic' }, 'no HTTPAuthUser'],
    [
      {
        MySQLTopologyUser: 'o',
        ListenAddress: ':3000',
        AuthenticationMethod: 'basic',
        HTTPAuthUser: 'a',
        HTTPAuthPassword: 'b',
      },
      'choose a longer password',
    ],
    [{ MySQLTopologyUser: 'o', DefaultInstancePort: 0 }, 'DefaultInstancePort, which must be a number above 0'],
    // What nobody could listen on, or log in by, is not said to be served.
    ...[':0', ':65536', 'a b:3000'].map((ListenAddress): [object, string] => [
      { MySQLTopologyUser: 'o', ListenAddress },
      `ListenAddress ${ListenAddress}`,
    ]),
    ...[
      { HTTPAuthUser: '', HTTPAuthPassword: 'a-password-that-is-long' },
      { HTTPAuthUser: 'a-user-that-has-no-password', HTTPAuthPassword: '' },
    ].map((login): [object, string] => [
      { MySQLTopologyUser: 'o', ListenAddress: ':3000', AuthenticationMethod: 'basic', ...login },
      login.HTTPAuthUser === '' ? 'no HTTPAuthUser' : 'no HTTPAuthPassword',
    ]),
  ])('%j is refused', async (keys, why) => {
    await expect(read(keys)).rejects.toMatchObject({
      code: 'REGENT_BAD_FILE',
      message: expect.stringContaining(why) as string,
    })
  })

  it.each([
    [{ ReasonableReplicationLagSeconds: 90_000 }, 'maxLagSeconds'],
    [{ PromotionIgnoreHostnameFilters: ['*'] }, 'none of them could ever be primary'],
  ])('that would make an adoption which no manager reads is refused: %j', async (keys, why) => {
    const { mysql, applied } = await read({ MySQLTopologyUser: 'o', ...keys })
    const found = checkAdoption('found', { cluster: 'shop', mysql, hosts: ['db1', 'db2'] })
    expect(() => applied(found)).toThrow(why)
  })

  it('has each key in one row', () => {
    const keys = orchestratorKeys.flatMap((row) => row.keys)
    expect(keys.filter((key, at) => keys.indexOf(key) !== at || !/^[A-Z]\w+$/.test(key))).toEqual([])
  })
})
