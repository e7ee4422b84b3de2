import { expect, it } from 'vitest'
import { isOfClone, mayBeCopied } from './clone-files.ts'

it.each([
  ['ibdata1', 12],
  ['undo_001', 12],
  ['extra.ibu', 12],
  ['general.ibd', 12],
  ['mysql.ibd', 12],
  ['ib_buffer_pool', 12],
  ['#innodb_redo/#ib_redo12', 12],
  ['#clone/#status_fix', 0],
  ['#clone/#replace_files', 0],
  ['app/orders.ibd', 12],
  ['app/orders#p#p0.ibd', 12],
  ['mysql/general_log_213.sdi', 12],
  ['mysql/general_log.CSV', 0],
  ['mysql/general_log.CSM', 12],
  ['app/old.MYD', 0],
  ['app/old.MYI', 12],
])('CLONE leaves %s with %i bytes', (path, bytes) => {
  expect(isOfClone(path, bytes)).toBe(true)
})

it.each([
  ['auto.cnf', 12],
  // Settings that somebody else's server kept.
  ['mysqld-auto.cnf', 12],
  ['my.cnf', 12],
  // Which components a server loads.
  ['mysqld.my', 12],
  ['private_key.pem', 12],
  ['binlog.000001', 12],
  ['binlog.index', 12],
  ['relay-bin.000001', 12],
  ['regent-restored', 12],
  ['regent-restored-accounts', 12],
  // mysqld removes and renames what such a list names.
  ['#clone/#replace_files', 12],
  ['#clone/#old_files', 12],
  ['#innodb_redo/#ib_redo1/x', 12],
  ['app/evil.so', 12],
  ['app/.ibd', 12],
  ['app/deep/er.ibd', 12],
])('CLONE leaves no %s with %i bytes', (path, bytes) => {
  expect(isOfClone(path, bytes)).toBe(false)
})

it('What CLONE tells of its own work is in a copy, and no restore takes that', () => {
  expect([isOfClone('#clone/#view_progress', 274), mayBeCopied('#clone/#view_progress', 274)]).toEqual([false, true])
  expect(mayBeCopied('#clone/#replace_files', 12)).toBe(false)
})
