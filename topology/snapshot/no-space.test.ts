import { expect, it } from 'vitest'
import { isForLackOfSpace } from './no-space.ts'

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
