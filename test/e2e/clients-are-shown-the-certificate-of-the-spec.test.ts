import type { TLSSocket } from 'node:tls'
import { X509Certificate } from 'node:crypto'
import { createConnection } from 'mysql2/promise'
import { expect, it } from 'vitest'
import { issueAuthority, issueLeaf, type Issued } from '#certificates/issue.ts'
import { realRandom } from '#common/ports/real-world.ts'
import { namesOf } from '#kube/names/names.ts'
import { secrets, textIn } from '#kube/secrets/secrets.ts'
import { openSession } from '../support/sql-session.ts'
import { found } from './kube-cluster.ts'
import { withKubeCluster } from './with-kube-cluster.ts'

const dayMs = 86_400_000
const moment = { wallMs: Date.now(), random: realRandom }
const sealed = withKubeCluster({ name: 'sealed' })

it('a Secret’s certificate is shown to clients, who may be made to use TLS, and a renewed one without a restart', async () => {
  const cluster = sealed.current
  const service = `${namesOf(cluster.name).primary}.${cluster.namespace}.svc`
  const authority = await issueAuthority(dayMs, moment)
  const leaf = () => issueLeaf(authority, { dns: [service], purposes: ['server'], validMs: dayMs }, moment)
  const secretKey = { namespace: cluster.namespace, name: 'sealed-tls' }
  const dataOf = ({ cert, key }: Issued) =>
    Object.fromEntries(
      Object.entries({ 'tls.crt': cert, 'tls.key': key, 'ca.crt': authority.cert }).map(([name, text]) => [
        name,
        Buffer.from(text).toString('base64'),
      ]),
    )
  const [first, renewed] = [await leaf(), await leaf()]
  await cluster.client.create(secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: secretKey,
    type: 'kubernetes.io/tls',
    data: dataOf(first),
  })
  await cluster.change({ tls: { secretName: secretKey.name, required: true } })

  const login = {
    ...found((await cluster.writerTarget()).pinned ?? undefined, 'an address'),
    ...(await cluster.login('client')),
  }
  const serialSeen = async (): Promise<string | undefined> => {
    const session = await createConnection({ ...login, connectTimeout: 2_000, ssl: { ca: authority.cert } })
    session.on('error', () => undefined)
    const { stream } = (session as unknown as { readonly connection: { readonly stream: TLSSocket } }).connection
    const serial = stream.getPeerX509Certificate()?.serialNumber
    session.destroy()
    return serial
  }
  const isShown = ({ cert }: Issued) =>
    cluster.until(
      () => 'the certificate is shown',
      async () => (await serialSeen()) === new X509Certificate(cert).serialNumber,
      240_000,
    )

  await isShown(first)
  await cluster.whole(3, 180_000)
  await expect(openSession(login, 5_000)).rejects.toMatchObject({ code: 'ER_SECURE_TRANSPORT_REQUIRED' })
  const binding = await cluster.client.get(secrets, {
    namespace: cluster.namespace,
    name: namesOf(cluster.name).client,
  })
  expect(textIn(binding, 'ca.crt')).toBe(authority.cert)

  const uptime = async () =>
    Number(
      await cluster.value(
        `${cluster.name}-0`,
        `select variable_value from performance_schema.global_status where variable_name = 'Uptime'`,
      ),
    )
  const before = await uptime()
  await cluster.client.patch(secrets, secretKey, { data: dataOf(renewed) })
  await isShown(renewed)
  expect(await uptime(), 'mysqld was not restarted').toBeGreaterThan(before)
})
