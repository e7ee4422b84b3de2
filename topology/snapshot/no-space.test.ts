import { expect, it } from 'vitest'
import { isForLackOfSpace, passesByItself } from './no-space.ts'

it.each([
  [
    "Worker 1 failed executing transaction '80b14825:1000084'; Could not execute Write_rows event on table app.more; The table 'more' is full, Error_code: 1114; handler error HA_ERR_RECORD_FILE_FULL",
    true,
  ],
  ['Disk full (./binlog.000003); waiting for someone to free some space, Error_code: MY-001021', true],
  ["Error writing file './relay.000002' (OS errno 28 - No space left on device)", true],
  ['write failed (errno: 28)', true],
  ["Duplicate entry '5' for key 'rows.PRIMARY', Error_code: 1062", false],
  ['Error_code: 11140', false],
  ['', false],
])('A full disk is told from other errors: %s', (error, isFull) => {
  expect(isForLackOfSpace(error)).toBe(isFull)
})

it.each([
  ['Error_code: 1114; handler error HA_ERR_RECORD_FILE_FULL', true],
  [
    'Could not execute Update_rows event on table app.t; Lock wait timeout exceeded; try restarting transaction, Error_code: 1205; handler error HA_ERR_LOCK_WAIT_TIMEOUT',
    true,
  ],
  [
    'Could not execute Delete_rows event on table app.t; Query execution was interrupted, Error_code: 1317; handler error HA_ERR_GENERIC',
    true,
  ],
  [
    "Error 'Query execution was interrupted' on query. Default database: 'app'. Query: 'ALTER TABLE t', Error_code: 1317",
    true,
  ],
  ['Deadlock found when trying to get lock; try restarting transaction, Error_code: 1213', true],
  ['Out of memory; restart server and try again (needed 2 bytes), Error_code: 1037', true],
  [
    'The replica coordinator and worker threads are stopped, possibly leaving data in inconsistent state. A restart should restore consistency automatically, Error_code: 1756',
    true,
  ],
  ["Could not execute Update_rows event on table app.t; Can't find record in 't', Error_code: 1032", false],
  ['Error_code: 12051', false],
  ['', false],
])('Where nothing is wrong with what was received an applier goes on once the reason is over: %s', (error, passes) => {
  expect(passesByItself(error)).toBe(passes)
})
