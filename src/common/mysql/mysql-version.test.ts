import { describe, expect, it } from 'vitest'
import { usableVersion } from './mysql-version.ts'
import { say } from '../sentence/sentence.ts'

describe('what mysqld --version prints', () => {
  it.each([
    ['/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))', '9.7.4'],
    ['mysqld  Ver 8.0.26 for Linux on aarch64 (MySQL Community Server - GPL)', '8.0.26'],
    ['mysqld  Ver 8.4.0-log for Linux on x86_64', '8.4.0'],
  ])('%s is accepted', (output, version) => {
    expect(usableVersion(output, say`x`)).toBe(version)
  })

  it.each(['8.0.25', '5.7.44', '8.0.3'])('%s is too old, and the message says which one it is', (version) => {
    expect(() => usableVersion(`mysqld  Ver ${version} for Linux`, say`/opt/mysqld`)).toThrow(
      expect.objectContaining({
        code: 'REGENT_MYSQL_TOO_OLD',
        message: `/opt/mysqld is MySQL ${version}, and Regent needs 8.0.26 or newer.`,
      }),
    )
  })

  it.each(['mysqld  Ver 10.11.6-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64', 'hello'])(
    '%s is not a MySQL server',
    (output) => {
      expect(() => usableVersion(output, say`/opt/mysqld`)).toThrow(
        expect.objectContaining({ code: 'REGENT_MYSQL_MISSING' }),
      )
    },
  )
})
