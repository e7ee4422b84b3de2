import { X509Certificate } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { createConnection, type Connection } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ClientCertificate } from '#agents/guard/client-certificate.ts'
import { Notices } from '#agents/instance/notices.ts'
import { volumeLayout } from '#agents/instance/volume-layout.ts'
import { issueAuthority, issueLeaf, type Issued } from '#certificates/issue.ts'
import { passwordFor } from '#common/mysql/account-password.ts'
import { realRandom, realWorld } from '#common/ports/real-world.ts'
import { BareInstance, secret, until } from '#test/support/bare-instance.ts'
import { queryWithin } from '#test/support/sql-session.ts'
import { patienceMs, probeMs } from '#test/support/patience.ts'

const day = 86_400_000
const said: string[] = []
let folder: string
let authority: Issued
let first: Issued
let second: Issued
let source: BareInstance
let replica: BareInstance
let certificate: ClientCertificate

beforeAll(async () => {
  const moment = { wallMs: Date.now(), random: realRandom }
  authority = await issueAuthority(day, moment)
  const leaf = () =>
    issueLeaf(authority, { dns: ['shop-primary.shops.svc'], purposes: ['server'], validMs: day }, moment)
  first = await leaf()
  second = await leaf()
  folder = await mkdtemp(join(tmpdir(), 'regent-client-certificate-'))
  const given = join(folder, 'given')
  await mkdir(given)
  const config = { tls: { certificateFolder: '/unused' }, clientTls: { certificateFolder: given, required: true } }
  source = await BareInstance.create('bare-0', {}, config)
  replica = await BareInstance.create('bare-1', {}, config)
  const { process, server } = source
  certificate = new ClientCertificate(
    { given, shown: join(folder, 'shown') },
    { process, server, world: realWorld, notices: new Notices(realWorld.clock, (sentence) => said.push(sentence)) },
    () => undefined,
  )
  await Promise.all([source.process.initialise(), replica.process.initialise()])
  await Promise.all([source.start(), replica.start()])
  await source.server.setReadOnly('accounts')
  await source.server.open()
})

afterAll(async () => {
  certificate.stop()
  await source.remove()
  await replica.remove()
  await rm(folder, { recursive: true })
})

async function give({ cert, key }: Issued): Promise<void> {
  for (const [name, text] of [
    ['tls.crt', cert],
    ['tls.key', key],
    ['ca.crt', authority.cert],
  ] as const)
    await writeFile(join(folder, 'given', name), text)
}

/** A client that takes only what the authority signed; and whom it saw. */
async function strictClient(): Promise<{ readonly session: Connection; readonly serial: string | undefined }> {
  const session = await createConnection({
    host: source.config.host,
    port: 3306,
    user: 'client',
    password: passwordFor(secret, 'client'),
    connectTimeout: patienceMs,
    ssl: { ca: authority.cert },
  })
  session.on('error', () => undefined)
  const socket = (session as unknown as { readonly connection: { readonly stream: TLSSocket } }).connection.stream
  return { session, serial: socket.getPeerX509Certificate()?.serialNumber }
}

async function serialSeen(): Promise<string | undefined> {
  const { session, serial } = await strictClient()
  session.destroy()
  return serial
}

const serialOf = ({ cert }: Issued): string => new X509Certificate(cert).serialNumber
/** As a pass of the converger does. */
const shows = (issued: Issued) =>
  until(
    async () => (await certificate.show(), (await serialSeen().catch(() => undefined)) === serialOf(issued)),
    'the certificate is shown',
  )

describe('A client', () => {
  it('is shown the server’s own certificate while none was given, and that is said', async () => {
    await certificate.start()
    await certificate.show()
    expect(String(certificate.trouble)).toContain('tls.crt cannot be read')
    await expect(strictClient()).rejects.toThrow('self-signed certificate in certificate chain')
  })

  it('is shown the certificate that was given, as soon as it is there', async () => {
    await give(first)
    await shows(first)
    expect(certificate.trouble).toBe('')
    expect(said.at(-1)).toContain('clients are shown the certificate for DNS:shop-primary.shops.svc')
  })

  it('is refused without TLS where that is required, and the agent gets in by every way it has', async () => {
    await expect(source.session('client')).rejects.toMatchObject({ code: 'ER_SECURE_TRANSPORT_REQUIRED' })
    expect(await source.server.probeWrite(probeMs)).toEqual({ result: 'ok', detail: '' })
    await rm(volumeLayout(source.config.volume).socket)
    const byAddress = source.anotherServerPort()
    expect((await byAddress.readState()).readOnly).toBe(false)
    byAddress.disconnect()
  })

  it('is shown a renewed certificate without a restart, and keeps the session it has', async () => {
    const { session } = await strictClient()
    await give(second)
    await shows(second)
    expect(await queryWithin(session, 'SELECT 1 AS one', patienceMs)).toEqual([{ one: 1 }])
    session.destroy()
  })

  it('is shown the one before while the key is another’s, and that is said until it is put right', async () => {
    await writeFile(join(folder, 'given', 'tls.key'), first.key)
    await until(() => String(certificate.trouble).includes('tls.key is not the key of tls.crt'), 'the trouble is said')
    await certificate.show()
    expect(await serialSeen()).toBe(serialOf(second))
    expect(said.at(-1)).toContain('tls.key is not the key of tls.crt; the ones before stay in use')
    await give(second)
    await until(() => certificate.trouble === '', 'nothing is wrong any more')
  })

  it('is shown the one before where mysqld itself does not take a new one, also after the next reload by hand', async () => {
    for (const ca of [join(folder, 'nowhere'), null])
      await expect(
        source.server.showCertificate({ cert: join(folder, 'nowhere'), key: join(folder, 'nowhere'), ca }),
      ).rejects.toMatchObject({ code: 'REGENT_SERVER_ERROR' })
    expect(await serialSeen()).toBe(serialOf(second))
    const admin = await createConnection({
      host: source.config.host,
      port: 3306,
      user: 'admin',
      password: passwordFor(secret, 'admin'),
      ssl: { ca: authority.cert },
    })
    await admin.query('ALTER INSTANCE RELOAD TLS')
    admin.destroy()
    expect(await serialSeen()).toBe(serialOf(second))
  })

  it('is shown a certificate without an authority too', async () => {
    await rm(join(folder, 'given', 'ca.crt'))
    await writeFile(join(folder, 'given', 'tls.crt'), first.cert)
    await writeFile(join(folder, 'given', 'tls.key'), first.key)
    await shows(first)
    await give(second)
    await shows(second)
  })

  it('is shown it again by the next mysqld, which began with its own', async () => {
    await source.process.kill()
    await source.start()
    await source.server.setReadOnly('accounts')
    await source.server.open()
    await expect(serialSeen()).rejects.toThrow('self-signed certificate in certificate chain')
    await certificate.show()
    expect(await serialSeen()).toBe(serialOf(second))
  })
})

describe('A replica', () => {
  it('copies and follows over TLS', async () => {
    await source.server.setReadOnly('accounts')
    await source.server.setGates([replica.name])
    await source.server.open()
    await replica.server.cloneInto(
      volumeLayout(replica.config.volume).seedDir,
      source.sourceFor(replica),
      () => undefined,
    )
    await replica.server.pointTo(source.sourceFor(replica))
    await replica.server.startApplier()
    await replica.server.startReceiver()
    await until(async () => (await replica.server.readState()).channel?.ioRunning === 'yes', 'it follows')
    expect((await replica.server.readState()).channel).toMatchObject({ encrypted: true, ioError: '' })
    const admin = await createConnection({
      host: source.config.host,
      port: 3306,
      user: 'admin',
      password: passwordFor(secret, 'admin'),
      ssl: { ca: authority.cert },
    })
    const dumping = await queryWithin(
      admin,
      "SELECT CONNECTION_TYPE AS kind FROM performance_schema.threads WHERE PROCESSLIST_USER = 'regent_r_1' AND PROCESSLIST_COMMAND LIKE 'Binlog Dump%'",
      2_000,
    )
    admin.destroy()
    expect(dumping).toEqual([{ kind: 'SSL/TLS' }])
  })
})
