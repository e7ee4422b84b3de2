import { expect, it } from 'vitest'
import type { KubeObject } from '#controller-runtime/objects/objects.ts'
import { ScriptedClient } from '#controller-runtime/testing-kube-client.ts'
import { dataOf, secrets } from '#kube/secrets/secrets.ts'
import { statefulSetOf, volumeClaims } from '#kube/pods/stateful-set.ts'
import { aCluster, testImages } from '#kube/testing.ts'
import { refuseUselessStore } from './backup-secrets.ts'

const signal = new AbortController().signal
const store = { address: 's3://backups/prod', credentialsSecret: 'login', encryption: { secret: 'key', key: 'key' } }
const setOf = (spec: object) => statefulSetOf(aCluster(spec), testImages, undefined)
const metadata = (name: string) => ({ namespace: 'shops', name })
const secret = (name: string, texts: Readonly<Record<string, string>>) => ({
  ...{ apiVersion: 'v1', kind: 'Secret', metadata: metadata(name), data: dataOf(texts) },
})

it('No pod is changed for a store whose Secrets are not there or of no use, and each is named, never what is in it', async () => {
  const client = new ScriptedClient()
  const spec = { backup: { store } }
  const refused = () => refuseUselessStore(client, aCluster(spec), { next: setOf(spec), before: setOf({}) }, signal)
  await expect(refused()).rejects.toThrow(
    /^Secret shops\/login \(spec\.backup\.store\.credentialsSecret\) is not there; Secret shops\/key \(spec\.backup\.store\.encryption\) is not there: put that right/,
  )
  await client.create(secrets, secret('login', { accessKeyId: 'somebody' }))
  await client.create(secrets, secret('key', { key: 'too-short' }))
  await expect(refused()).rejects.toThrow(/login \(\S+\) has nothing under secretAccessKey; .*holds no key of backups/)
  await expect(refused()).rejects.not.toThrow(/too-short/)
  await client.patch(secrets, metadata('login'), { data: dataOf({ secretAccessKey: 'secret' }) })
  await client.patch(secrets, metadata('key'), { data: dataOf({ key: `${'a1'.repeat(32)}\n` }) })
  await refused()
  await client.patch(secrets, metadata('key'), { data: dataOf({ key: `${'a1'.repeat(32)}\n${'b2'.repeat(32)}\n` }) })
  await refused()
})

it('What pods have mounted already keeps nothing else from being applied', async () => {
  const spec = { backup: { store } }
  const before = setOf(spec)
  await refuseUselessStore(new ScriptedClient(), aCluster(spec), { next: setOf(spec), before }, signal)
})

it('A claim without which no pod would start is asked for before', async () => {
  const client = new ScriptedClient()
  const spec = { bootstrap: { restore: { store: { claim: 'old' } } } }
  const refused = () => refuseUselessStore(client, aCluster(spec), { next: setOf(spec), before: undefined }, signal)
  await expect(refused()).rejects.toThrow(
    /^PersistentVolumeClaim shops\/old \(spec\.bootstrap\.restore\.store\.claim\) is not there/,
  )
  await client.create<KubeObject>(volumeClaims, {
    ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: metadata('old') },
  })
  await refused()
})
