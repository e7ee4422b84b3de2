import { describe, expect, it } from 'vitest'
import { coreSpecOf } from '../spec/core-spec.ts'
import { aCluster, specOf, testImages } from '../testing.ts'
import { podRevisionOf, podTemplateOf } from './pod-template.ts'

const secretsAndKey = { credentialsSecret: 'login', caSecret: 'ca', encryption: { secret: 'key-of-backups', key: 'k' } }
const bucket = { address: 's3://backups/prod', ...secretsAndKey }
const key = { namespace: 'shops', name: 'shop' }
const podOf = (spec: object, epoch = 0) =>
  podTemplateOf({ ...aCluster(spec), status: { epoch } }, testImages).spec ?? expect.fail('no pod')
const whoMounts = (spec: object, path: string) =>
  [...(podOf(spec).initContainers ?? []), ...podOf(spec).containers].flatMap(({ name, volumeMounts = [] }) =>
    volumeMounts.filter(({ mountPath }) => mountPath === path).map(({ readOnly }) => [name, readOnly]),
  )
const revision = (spec: object) => podRevisionOf(aCluster(spec), 'mysql:9')

describe('What a store of backups needs', () => {
  it('is in the agent’s container alone, read-only, in the files that the agent is told of', () => {
    const spec = { backup: { store: bucket } }
    expect(whoMounts(spec, '/etc/regent-backup')).toEqual([['agent', true]])
    const volume = podOf(spec).volumes?.find(({ name }) => name === 'backup-secrets')
    expect(volume?.projected?.sources?.map(({ secret }) => [secret?.name, secret?.optional])).toEqual([
      ['login', true],
      ['ca', true],
      ['key-of-backups', true],
    ])
    const files = volume?.projected?.sources?.flatMap(({ secret }) => (secret?.items ?? []).map(({ path }) => path))
    expect(files).toEqual(['accessKeyId', 'secretAccessKey', 'sessionToken', 'ca.crt', 'encryption.key'])
    expect(coreSpecOf(key, specOf(spec)).backup?.store).toEqual({
      address: 's3://backups/prod',
      folder: 'shops.shop',
      credentialsFolder: '/etc/regent-backup',
      caFile: '/etc/regent-backup/ca.crt',
      encryptionKeyFile: '/etc/regent-backup/encryption.key',
    })
  })

  it('is a folder where a claim is named', () => {
    const spec = { backup: { store: { claim: 'backups', folder: 'shop' } } }
    expect(whoMounts(spec, '/var/lib/regent-backup')).toEqual([['agent', undefined]])
    expect(podOf(spec).volumes?.some(({ name }) => name === 'backup-secrets')).toBe(false)
    expect(coreSpecOf(key, specOf(spec)).backup?.store).toEqual({ address: '/var/lib/regent-backup', folder: 'shop' })
  })

  it('restarts the instances where it is another Secret or claim, and for nothing else', () => {
    const with_ = (store: object, rest: object = {}) => revision({ backup: { store, ...rest } })
    expect(with_(bucket)).not.toBe(revision({}))
    expect(with_({ ...bucket, credentialsSecret: 'other' })).not.toBe(with_(bucket))
    expect(with_({ ...bucket, address: 's3://elsewhere/x' }, { schedule: 'never' })).toBe(with_(bucket))
    expect(with_({ address: 's3://backups/prod' })).toBe(revision({}))
  })

  it('of the store that a new cluster comes from is there until the cluster has its first primary', () => {
    const spec = { bootstrap: { restore: { store: { claim: 'old', ...secretsAndKey }, of: 'mall/other' } } }
    expect(whoMounts(spec, '/var/lib/regent-restore')).toEqual([['agent', true]])
    expect(podOf(spec, 1).volumes).toEqual(podOf({}, 1).volumes)
    expect(revision(spec)).toBe(revision({}))
    expect(coreSpecOf(key, specOf(spec)).restore).toMatchObject({
      of: 'mall.other',
      store: { address: '/var/lib/regent-restore', encryptionKeyFile: '/etc/regent-restore/encryption.key' },
    })
  })

  it.each([
    [undefined, 'shops.shop'],
    ['other', 'shops.other'],
    ['mall/other', 'mall.other'],
  ])('of cluster %s lies in folder %s of the store', (of, folder) => {
    const restore = { store: { address: 's3://backups/prod' }, ...(of !== undefined && { of }) }
    expect(coreSpecOf(key, specOf({ bootstrap: { restore } })).restore?.of).toBe(folder)
  })
})
