import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { debianMysqlclient, goProgram, javaProgram, pythonWith, type Prepared } from '../support/client-drivers.ts'

const programs = join(import.meta.dirname, 'programs')
const python = join(programs, 'python_drivers.py')

export interface Driver {
  readonly name: string
  /** What the program does with the connection that is kept. */
  readonly kept: string
  prepare(folder: string): Promise<Prepared>
}

export const drivers: readonly Driver[] = [
  {
    name: 'mysql2 3.24.6 (Node.js)',
    kept: 'createPool',
    prepare: async () => [process.execPath, join(programs, 'mysql2.ts')],
  },
  {
    name: 'PyMySQL 1.1.1',
    kept: 'ping(reconnect=True) before use',
    prepare: async () => [
      ...(await pythonWith(['PyMySQL==1.1.1', 'cryptography'], 'pymysql, cryptography', python)),
      'pymysql',
    ],
  },
  {
    name: 'mysql-connector-python 9.5.0',
    kept: 'MySQLConnectionPool',
    prepare: async () => [
      ...(await pythonWith(['mysql-connector-python==9.5.0'], 'mysql.connector', python)),
      'connector',
    ],
  },
  {
    name: 'mysqlclient 1.4.6',
    kept: 'ping() before use, and another connection where that fails',
    prepare: async () => [...(await debianMysqlclient(python)), 'mysqlclient'],
  },
  {
    name: 'go-sql-driver 1.9.3',
    kept: 'sql.DB',
    async prepare(folder) {
      await copyFile(join(programs, 'main.go'), join(folder, 'main.go'))
      return goProgram(folder, ['github.com/go-sql-driver/mysql@v1.9.3'])
    },
  },
  {
    name: 'Connector/J 9.4.0',
    kept: 'isValid(1) before use, and another connection where that fails',
    prepare: () => javaProgram('9.4.0', join(programs, 'Driver.java')),
  },
]
