import type { BuiltInAction } from '../built-in/built-in-action.ts'
import { refusal } from '../wire/calls.ts'

/**
 * `dataLoad` is a worker's, before any mysqld runs. Beside a mysqld the answer is `notImplemented`: a success that did
 * nothing would be believed.
 */
export const dataLoad: BuiltInAction = {
  name: 'dataLoad',
  run: async () =>
    refusal(
      'notImplemented',
      'dataLoad is not done beside a mysqld: a governed instance copies another by CLONE, as Regent’s ' +
        'manager orders, and a worker (--server=false --data-dir <folder>) fills an empty folder',
    ),
}
