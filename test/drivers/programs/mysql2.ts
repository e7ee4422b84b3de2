// mysql2: one connection of its own, and a pool. Each word that comes is answered by word, code, milliseconds, text.
import { createInterface } from 'node:readline'
import mysql, { type Connection } from 'mysql2/promise'

const { DB_HOST: host = '', DB_PORT, DB_PASSWORD: password = '' } = process.env
const login = { host, port: Number(DB_PORT), user: 'client', password, database: 'app', connectTimeout: 10_000 }

async function tell(what: string, work: () => Promise<unknown>): Promise<void> {
  const beganMs = performance.now()
  const words = await work().then(
    () => 'ok\t',
    ({ errno = 0, code = 'closed', message }: NodeJS.ErrnoException) => `${errno > 0 ? errno : code}\t${message}`,
  )
  const [code = '', text = ''] = words.split('\t')
  console.log([what, code, Math.round(performance.now() - beganMs), text.replace(/\s+/g, ' ')].join('\t'))
}

const insert = 'INSERT INTO driven VALUES (UUID())'
const pool = mysql.createPool({ ...login, connectionLimit: 1 })
let plain: Connection | undefined
const prepare = async (): Promise<void> => {
  plain?.destroy()
  plain = await mysql.createConnection(login)
  plain.on('error', () => undefined)
  await Promise.all([plain.query('SELECT 1'), pool.query('SELECT 1')])
}

for await (const line of createInterface(process.stdin)) {
  if (line === 'prepare') await tell('prepare', prepare)
  if (line === 'plain') await tell('plain', () => plain?.query(insert) ?? Promise.reject(new Error('not prepared')))
  if (line === 'kept') await tell('kept', () => pool.query(insert))
  if (line === 'new') await tell('new', async () => (await mysql.createConnection(login)).destroy())
}
process.exit()
