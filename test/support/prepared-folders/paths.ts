import { join } from 'node:path'

/** Data folders that were made once, for all later servers of tests that begin the same way. */
export const preparedFolders = join(import.meta.dirname, '..', '..', '..', '.cache', 'prepared-folders')

/** For REGENT_MYSQLD: a mysqld that copies such a folder where another would make one. */
export const preparedMysqld = join(preparedFolders, 'bin', 'mysqld')
