import { describe, expect, it } from 'vitest'
import { aCluster } from '../testing.ts'
import { validateMySQLBackup } from './backup-object-validation.ts'
import { backupWarnings, complaintsAboutBackups, whyLateBootstrap } from './backup-validation.ts'

const bucket = { address: 's3://backups/prod' }
const backup = (store: object, rest: object = {}) => ({ backup: { store, ...rest } })
const restore = (store: object, rest: object = {}) => ({ bootstrap: { restore: { store, ...rest } } })

describe('Backups in a MySQLCluster', () => {
  it.each<[what: string, spec: object]>([
    ['none', {}],
    ['a bucket', backup(bucket)],
    ['a bucket of another server', backup({ ...bucket, endpoint: 'https://s3.example:9000', caSecret: 'authority' })],
    ['a claim', backup({ claim: 'backups', encryption: { secret: 'key-of-backups', key: 'key' } })],
    ['by hand alone', backup(bucket, { schedule: 'never', rehearsal: { schedule: 'never' } })],
    ['a cluster that begins with the backup of another one', restore(bucket, { of: 'mall/other' })],
    [
      'a cluster that is made again in another folder',
      { ...backup({ ...bucket, folder: 'shops.shop-2' }), ...restore(bucket) },
    ],
  ])('may be as here: %s', (_, spec) => {
    expect([...complaintsAboutBackups(aCluster(spec))]).toEqual([])
  })

  it.each<[says: string, spec: object]>([
    ['spec.backup.store does not say where backups lie', backup({})],
    ['spec.backup.store does not say where backups lie', backup({ ...bucket, claim: 'backups' })],
    ['allowed beside a claim are folder and encryption', backup({ claim: 'backups', region: 'eu-central-1' })],
    ['spec.backup: the store of backups cannot be opened', backup({ address: 's3://Backups' })],
    ['The S3 endpoint must be https://host[:port]', backup({ ...bucket, endpoint: 'https://s3.example/path' })],
    ['spec.backup: backup.schedule is "0 3 * *": write five fields', backup(bucket, { schedule: '0 3 * *' })],
    ['which is unknown: name one such as UTC', backup(bucket, { timeZone: 'Mars/Base' })],
    [
      'spec.backup.store.credentialsSecret is "shop-internal"; allowed is a Secret that is not Regent’s own',
      backup({ ...bucket, credentialsSecret: 'shop-internal' }),
    ],
    [
      'spec.pod.volumes is "backup-secrets"',
      { ...backup(bucket), pod: { volumes: [{ name: 'backup-secrets', emptyDir: {} }] } },
    ],
    [
      'spec.backup.store.folder is "shops.shop", where the backups of spec.bootstrap.restore lie',
      { ...backup(bucket), ...restore(bucket) },
    ],
    ['spec.bootstrap.restore: it cannot be done', restore(bucket, { until: 'yesterday' })],
  ])('are refused where they cannot work: %s', (says, spec) => {
    expect([...complaintsAboutBackups(aCluster(spec))].join('; ')).toContain(says)
  })

  it('are warned of where whoever reads the store reads all data', () => {
    expect(backupWarnings(aCluster(backup(bucket)))).toEqual([expect.stringContaining('readable for whoever')])
    expect(backupWarnings(aCluster(backup({ ...bucket, encryption: { secret: 'k', key: 'key' } })))).toEqual([])
  })

  it('come into a cluster until that has its first primary, and no more then', () => {
    const [without, begins] = [aCluster(), aCluster(restore(bucket))]
    const led = (cluster: typeof without) => ({ ...cluster, status: { epoch: 1 } })
    expect(whyLateBootstrap(begins, without)).toBe('')
    expect(String(whyLateBootstrap(begins, led(without)))).toContain('this one had a primary')
    expect(whyLateBootstrap(begins, led(begins))).toBe('')
    expect(whyLateBootstrap(without, led(begins))).toBe('')
  })
})

describe('A MySQLBackup', () => {
  const made = (spec: object) => ({
    ...{ apiVersion: 'regent.dev/v1alpha1', kind: 'MySQLBackup', metadata: { name: 'b', namespace: 'shops' } },
    spec: { cluster: 'shop', ...spec },
  })
  const refusals = (next: object, before?: object) =>
    validateMySQLBackup(made(next), before && made(before), undefined).refusals.map(({ message }) => message)

  it('may name an instance, or a run that has begun', () => {
    expect([refusals({}), refusals({ instance: 'shop-2' }), refusals({ backup: '20261126T031209Z' })]).toEqual([
      [],
      [],
      [],
    ])
  })

  it.each([
    ['spec.instance is "mall-0"; allowed are the instances shop-0 to shop-15', { instance: 'mall-0' }],
    ['spec.backup is "20261340T031209Z"; allowed is the name of a backup', { backup: '20261340T031209Z' }],
    ['has the unknown key "store"', { store: {} }],
  ])('is refused where it cannot be: %s', (says, spec) => {
    expect(refusals(spec).join()).toContain(says)
  })

  it('never becomes another one', () => {
    expect(refusals({ instance: 'shop-1' }, {})).toEqual([expect.stringContaining('cannot change')])
    expect(refusals({}, {})).toEqual([])
  })

  it('is warned of where its cluster is not there, or names no store', () => {
    const warnings = (cluster: Parameters<typeof validateMySQLBackup>[2]) =>
      validateMySQLBackup(made({}), undefined, cluster).warnings.join()
    expect(warnings(undefined)).toContain('is not there')
    expect(warnings(aCluster())).toContain('names no store of backups')
    expect(warnings(aCluster(backup(bucket)))).toBe('')
  })
})
