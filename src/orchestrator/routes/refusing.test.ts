import { expect, test } from 'vitest'
import { orchestratorOver, watchedShop } from '../testing.ts'

test.each([
  ['9.7.4', 'replica'],
  ['8.0.22', 'replica'],
  ['8.0.21', 'slave'],
  ['5.7.44-log', 'slave'],
  ['10.11.6-MariaDB', 'slave'],
])('Statements for a replica of version %s say what that version understands: %s', async (version, word) => {
  const { get } = await orchestratorOver([watchedShop({ views: { 'shop-1': { server: { version } } } })])
  expect((await get('restart-replica-statements/shop-1/3306?q=set%20global%20x=1;')).body).toMatchObject({
    Details: [
      ...[`stop ${word} io_thread;`, `stop ${word} sql_thread;`, 'set global x=1;'],
      ...[`start ${word} sql_thread;`, `start ${word} io_thread;`],
    ],
  })
})
