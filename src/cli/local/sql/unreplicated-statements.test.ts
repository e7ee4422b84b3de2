import { describe, expect, it } from 'vitest'
import { UnreplicatedStatements } from './unreplicated-statements.ts'

/** What passes of a text that comes in parts of so many bytes. */
function passing(text: string, size = 1_000): { readonly text: string; readonly leftOut: readonly string[] } {
  const filter = new UnreplicatedStatements()
  const bytes = Buffer.from(text)
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length; at += size) parts.push(filter.push(bytes.subarray(at, at + size)))
  return { text: Buffer.concat([...parts, filter.end()]).toString(), leftOut: [...filter.leftOut] }
}

const dump = `-- MySQL dump 10.13
/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;
SET @MYSQLDUMP_TEMP_LOG_BIN = @@SESSION.SQL_LOG_BIN;
SET @@SESSION.SQL_LOG_BIN= 0;

--
-- GTID state at the beginning of the backup
--

SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '11111111-1111-1111-1111-111111111111:1-5,
22222222-2222-2222-2222-222222222222:1-7';
CREATE DATABASE d;
SET @@SESSION.SQL_LOG_BIN = @MYSQLDUMP_TEMP_LOG_BIN;
`

describe('A default mysqldump', () => {
  it.each([1, 2, 7, 1_000])('passes in parts of %d bytes without what keeps it from replicating', (size) => {
    const { text, leftOut } = passing(dump, size)
    expect(leftOut).toEqual(['SQL_LOG_BIN', 'GTID_PURGED'])
    expect(text).not.toMatch(/SQL_LOG_BIN ?=|GTID_PURGED|2222/)
    expect(text).toContain('SET @MYSQLDUMP_TEMP_LOG_BIN = @@SESSION.SQL_LOG_BIN;')
    expect(text).toContain('CREATE DATABASE d;')
  })
})

describe('Whatever else is in a file passes byte for byte', () => {
  it.each([
    ['a string that looks so', "INSERT INTO t VALUES ('a\nSET @@SESSION.SQL_LOG_BIN= 0;\nb');\n"],
    [
      'a string with quotes',
      String.raw`INSERT INTO t VALUES ('it''s \'; SET SQL_LOG_BIN=0;', "x; SET SQL_LOG_BIN=0;");` + '\n',
    ],
    ['a remark', "-- it's a remark; SET SQL_LOG_BIN=0;\n# SET SQL_LOG_BIN=0;\nSELECT 1;\n"],
    ['a comment', "/* it's one; SET SQL_LOG_BIN=0; */ SELECT 1;\n"],
    ['a body', 'DELIMITER ;;\nCREATE PROCEDURE p()\nBEGIN\nSET SQL_LOG_BIN=0;\nEND ;;\nDELIMITER ;\nSELECT 1;\n'],
    ['a remark in a statement', 'UPDATE t -- why\nSET sql_log_bin = 1, a = 5--3 WHERE /* x */ b = 1 # y\n;\nSELECT 1;'],
    ['another setting', 'SET @@SESSION.sql_mode = 0; set names utf8mb4;\nSELECT 1;'],
    ['a statement without its end', 'SELECT 1;\nSET SQL_LOG_BIN'],
  ])('%s', (_, text) => {
    for (const size of [1, 3, 1_000]) expect(passing(text, size)).toEqual({ text, leftOut: [] })
  })

  it('and what comes after a body is looked at again', () => {
    const body = 'DELIMITER ;;\nCREATE EVENT e DO SET @a = 1 ;;\nDELIMITER ;\n'
    expect(passing(`${body}SET sql_log_bin = 0;\nSELECT 1;\n`, 5)).toEqual({
      text: `${body}\nSELECT 1;\n`,
      leftOut: ['SQL_LOG_BIN'],
    })
  })

  it('and what an executable comment holds', () => {
    const text = "/*!50003 CREATE TRIGGER t BEFORE INSERT ON a FOR EACH ROW SET NEW.b = '*/; SET SQL_LOG_BIN=0;' */;\n"
    expect(passing(text, 4)).toEqual({ text, leftOut: [] })
  })
})
