import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { literal } from '#agents/instance/accounts.ts'
import type { CertificateFiles } from '#agents/ports/server.ts'
import { textOf, type Sql } from '../connections/statements.ts'

/** Connections that are open stay as they are. The administrative interface shows the same. Since 8.0.21. */
export async function showCertificate(sql: Sql, files: CertificateFiles): Promise<void> {
  const [row] = await sql.read('SELECT @@global.ssl_cert AS cert, @@global.ssl_key AS `key`, @@global.ssl_ca AS ca')
  try {
    await reload(sql, files)
  } catch (error) {
    // The server's own variables name what its next reload reads, perhaps one by hand.
    await reload(sql, { cert: textOf(row, 'cert'), key: textOf(row, 'key'), ca: textOf(row, 'ca') || null })
    throw error
  }
}

/**
 * A certificate that no authority at hand has signed is shown only by NO ROLLBACK ON ERROR, and with that a server that
 * cannot use it at all goes without TLS and says nothing. An empty path is one that cannot be read (seen on 9.7).
 */
async function reload(sql: Sql, { cert, key, ca }: CertificateFiles): Promise<void> {
  await sql.change(
    `SET GLOBAL ssl_cert = ${literal(cert)}, GLOBAL ssl_key = ${literal(key)}, GLOBAL ssl_ca = ${ca === null ? 'NULL' : literal(ca)}`,
  )
  if (ca !== null) return void (await sql.change('ALTER INSTANCE RELOAD TLS'))
  await sql.change('ALTER INSTANCE RELOAD TLS NO ROLLBACK ON ERROR')
  const [main] = await sql.read(
    "SELECT VALUE AS enabled FROM performance_schema.tls_channel_status WHERE CHANNEL = 'mysql_main' AND PROPERTY = 'Enabled'",
  )
  if (textOf(main, 'enabled') !== 'Yes')
    throw new RegentError(
      'REGENT_SERVER_ERROR',
      say`ALTER INSTANCE RELOAD TLS: mysqld can do nothing with ${cert} and its key; its error log says why`,
    )
}
